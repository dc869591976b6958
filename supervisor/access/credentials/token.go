package credentials

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"qb/api"
	"qb/api/pin"
	"qb/internal/statedir"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/farmkey"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
	"qb/supervisor/wire/translate"
)

const (
	TokenOverlap = 30 * settings.Day // that a service's token goes on when its file has a new one
	tokenTries   = 5                 // to change a row that others change at the same time
)

// TokenFields are the parts of a token, qb_ROLE_ID_SECRET. The id is 8 random bytes in hex, the secret 32 random bytes
// in base64url. The database stores the id and a MAC under the farm's key, which is not in the database. A secret with
// so much entropy needs no slow hash.
type TokenFields struct {
	Role   api.Role
	ID     string
	Secret string
}

// Parse takes a token apart; ok is false if the text cannot be one.
func Parse(text string) (TokenFields, bool) {
	text, _ = pin.Cut(text) // for the client alone
	rest, ok := strings.CutPrefix(text, "qb_")
	parts := strings.SplitN(rest, "_", 3)
	if !ok || len(parts) != 3 || len(parts[1]) != 16 || len(parts[2]) != 43 {
		return TokenFields{}, false
	}
	return TokenFields{Role: api.Role(parts[0]), ID: parts[1], Secret: parts[2]}, true
}

func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// TokenMAC is what a row holds of its token's secret. It covers who may do what by it, so that neither an inserted nor
// a changed row makes a credential, and the secret by its hash.
func TokenMAC(key farmkey.Key, t store.Token, hash []byte) []byte {
	return key.TokenMAC(t.ID, fmt.Sprintf("%q %q %d %x %q", t.HostKey, t.Role, t.CreatedAt.UnixMicro(), hash, t.User))
}

// TokenSeal is the MAC over all of a row that decides who may do what by its token, and until when. The MAC of the
// secret cannot be made again when a token's life is shortened; the seal can.
func TokenSeal(key farmkey.Key, t store.Token) []byte {
	uses := -1 // not counted
	if t.UsesLeft != nil {
		uses = *t.UsesLeft
	}
	return key.TokenSeal(fmt.Sprintf("%q %x %q %q %q %d %d %d %q %q %q", t.ID, t.MAC, t.Role, t.User, t.HostKey,
		t.CreatedAt.UnixMicro(), t.ExpiresAt.UnixMicro(), uses, t.Name, t.Pending, t.SessionOf))
}

// Holds reports whether the row is as this farm wrote it, and good now. A revoked row has no seal.
func Holds(key farmkey.Key, t store.Token, now time.Time) bool {
	return hmac.Equal(TokenSeal(key, t), t.Seal) && !t.Revoked && now.Before(t.ExpiresAt)
}

// IsOf reports whether the row belongs to the token. It compares in constant time.
func (p TokenFields) IsOf(key farmkey.Key, t store.Token) bool {
	return hmac.Equal(TokenMAC(key, t, hashSecret(p.Secret)), t.MAC) && string(p.Role) == t.Role
}

var tokenRoles = []api.Role{api.Admin, api.Operator, api.User, api.ReadOnly, api.Worker}

// Request is what a new token is for.
type Request struct {
	User    string
	Role    api.Role
	Days    int           // 0: the default
	Life    time.Duration // instead of days, if it is not 0
	HostKey string        // the key of the host that a worker's token is bound to; "" binds to none
	Uses    int           // how often it may be exchanged, and is good for nothing else; 0: an ordinary token

	Name      string // how its user calls it: of a login, which counts only while the user has a row
	SessionOf string // of a session in the page, and of the code for one: the credential that it was begun with

	Pending string // the host that waits for approval, if it does

	// Audit makes the rows of the audit trail that go with the token; nil: there are none.
	Audit func(object string, detail any) []facts.AuditFacts
}

// audits returns the rows of the audit trail that are written with the token. From is the token from which a use was
// taken, if any.
func (want Request) audits(t store.Token, from *store.Token) []facts.AuditFacts {
	if want.Audit == nil {
		return nil
	}
	detail := map[string]any{"user": t.User, "role": t.Role, "expires_at": t.ExpiresAt}
	if t.UsesLeft != nil {
		detail["uses"] = *t.UsesLeft
	}
	if t.Name != "" {
		detail["name"] = t.Name
	}
	if t.Pending != "" {
		detail["pending"] = true
	}
	if t.SessionOf != "" {
		detail["session_of"] = t.SessionOf
	}
	if from != nil {
		detail["exchanged"], detail["uses_left"] = from.ID, *from.UsesLeft
	}
	return want.Audit("token "+t.ID, detail)
}

// Make stores a new token's MAC and returns the only copy of its text.
func Make(ctx context.Context, key farmkey.Key, r store.Reader, want Request) (string, store.Token, error) {
	text, t, err := draft(key, want)
	if err != nil {
		return "", store.Token{}, err
	}
	if err := r.CreateToken(ctx, t, want.audits(t, nil)...); err != nil {
		return "", store.Token{}, problem.Reading("keeping the new token", err)
	}
	return text, t, nil
}

// draft makes the text of a new token and its row.
func draft(key farmkey.Key, want Request) (string, store.Token, error) {
	user := want.User
	role := want.Role
	days := want.Days
	if !slices.Contains(tokenRoles, role) {
		return "", store.Token{},
			api.Errorf(api.KindInvalid, "role %q: use one of admin, operator, user, read-only, worker", role)
	}
	if err := translate.CheckUser(user); err != nil {
		return "", store.Token{}, err
	}
	if days == 0 {
		days = settings.TokenDays
	}
	if days < 1 || days > settings.TokenDaysMost {
		return "", store.Token{}, api.Errorf(api.KindInvalid, "days = %d: use 1 to %d", days, settings.TokenDaysMost)
	}
	if want.Uses < 0 || want.Uses > UsesMost || want.Uses > 0 && want.HostKey != "" {
		return "", store.Token{}, api.Errorf(api.KindInvalid, "uses = %d: use 1 to %d, or 0 for an ordinary token",
			want.Uses, UsesMost)
	}
	life := want.Life
	if life == 0 {
		life = time.Duration(days) * settings.Day
	}
	random := make([]byte, 40)
	_, _ = rand.Read(random) // never fails; the program ends if the system has no randomness
	id, secret := hex.EncodeToString(random[:8]), base64.RawURLEncoding.EncodeToString(random[8:])
	now := time.Now().UTC().Truncate(time.Microsecond)
	t := store.Token{ID: id, User: user, Role: string(role), CreatedAt: now, ExpiresAt: now.Add(life),
		HostKey: want.HostKey, Name: want.Name, Pending: want.Pending, SessionOf: want.SessionOf}
	if want.Uses != 0 {
		t.UsesLeft = &want.Uses
	}
	t.MAC = TokenMAC(key, t, hashSecret(secret))
	t.Seal = TokenSeal(key, t)
	return "qb_" + string(role) + "_" + id + "_" + secret, t, nil
}

// Ensure makes sure that file, mode 0600, holds a token of that user and role that has more than half of so many
// days before it, and no more than those; otherwise it makes one, and the one before goes on for TokenOverlap. The
// file is replaced whole.
func Ensure(ctx context.Context, key farmkey.Key, r store.Reader, file, user, role string, days int) error {
	before, err := readToken(file)
	if err != nil {
		return err
	}
	good, err := stillGood(ctx, key, r, before, user, role, days)
	if good || err != nil {
		return err
	}
	text, _, err := Make(ctx, key, r, Request{User: user, Role: api.Role(role), Days: days})
	if err != nil {
		return fmt.Errorf("making a %s token for %s: %w", role, user, err)
	}
	if err := statedir.ReplaceWith(file, 0o600, []byte(text+"\n")); err != nil {
		return fmt.Errorf("writing the token file: %w", err)
	}
	if parts, ok := Parse(before); ok && string(parts.Role) == role {
		if err := Shorten(ctx, key, r, parts.ID, time.Now().Add(TokenOverlap)); err != nil {
			return err
		}
	}
	return nil
}

// Shorten lets a token end at a moment if it would live longer. It does not change an invalid token.
func Shorten(ctx context.Context, key farmkey.Key, r store.Reader, id string, until time.Time) error {
	for range tokenTries {
		t, found, err := r.Token(ctx, id)
		if err != nil {
			return problem.Reading("a token that is to end", err)
		}
		if !found || !Holds(key, t, time.Now()) || !until.Before(t.ExpiresAt) {
			return nil
		}
		next := t
		next.ExpiresAt = until.UTC().Truncate(time.Microsecond)
		next.Seal = TokenSeal(key, next)
		switch done, err := r.ChangeToken(ctx, t, next); {
		case err != nil:
			return problem.Reading("shortening a token's life", err)
		case done:
			return nil
		}
	}
	return api.Errorf(api.KindUnavailable, "token %s is changed by others at the same time; try again", id)
}

// readToken reads a token file of this user's and closes it to others; "" if there is none.
func readToken(file string) (string, error) {
	f, err := statedir.OpenFile(file, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the token file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if err == nil {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return "", fmt.Errorf("reading the token file %s: %w", file, err)
	}
	return strings.TrimSpace(string(text)), nil
}

func stillGood(ctx context.Context, key farmkey.Key, r store.Reader, text, user, role string, days int) (bool, error) {
	parts, ok := Parse(text)
	if !ok || string(parts.Role) != role {
		return false, nil
	}
	t, found, err := r.Token(ctx, parts.ID)
	if err != nil {
		return false, problem.Reading("looking a token up", err)
	}
	now := time.Now()
	lives := t.ExpiresAt.Before(now.AddDate(0, 0, days).Add(settings.Day))
	return found && t.User == user && lives && parts.IsOf(key, t) &&
		Holds(key, t, now.AddDate(0, 0, days/2).Add(settings.Day)), nil
}
