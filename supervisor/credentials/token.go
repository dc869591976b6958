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
	"qb/statedir"
	"qb/supervisor/facts"
	"qb/supervisor/farmkey"
	"qb/supervisor/problem"
	"qb/supervisor/settings"
	"qb/supervisor/store"
	"qb/supervisor/store/postgres"
	"qb/supervisor/translate"
)

const (
	TokenOverlap = 30 * settings.Day // that a service's token goes on when its file has a new one
	tokenTries   = 5                 // to change a row that others change at the same time
)

// Parts are those of a token, which reads qb_ROLE_ID_SECRET: 8 random bytes in hex, 32 random bytes in base64url. The database
// stores the id and a MAC under the farm's key, which lies outside of it; so much randomness needs no slow hash.
type Parts struct {
	Role   api.Role
	ID     string
	Secret string
}

// Parse takes a token apart; ok is false if the text cannot be one.
func Parse(text string) (Parts, bool) {
	text, _ = pin.Cut(text) // for the client alone
	rest, ok := strings.CutPrefix(text, "qb_")
	parts := strings.SplitN(rest, "_", 3)
	if !ok || len(parts) != 3 || len(parts[1]) != 16 || len(parts[2]) != 43 {
		return Parts{}, false
	}
	return Parts{Role: api.Role(parts[0]), ID: parts[1], Secret: parts[2]}, true
}

func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// tokenMAC is what a row holds of its token's secret. It covers who may do what by it, so that neither an inserted nor
// a changed row makes a credential, and the secret by its hash, which is all that rows of an earlier qb have.
func tokenMAC(key farmkey.Key, t store.Token, hash []byte) []byte {
	host := ""
	if t.HostKey != "" {
		host = "host " + t.HostKey + "\n"
	}
	return key.TokenMAC(t.ID, host+fmt.Sprintf("%s\n%d\n%x\n%s", t.Role, t.CreatedAt.UnixMicro(), hash, t.User))
}

// tokenSeal is the MAC over all of a row that decides who may do what by its token, and until when. The MAC of the secret
// cannot be made again when a token's life is shortened; the seal can.
func tokenSeal(key farmkey.Key, t store.Token) []byte {
	text := fmt.Sprintf("%q %x %q %q %q %d %d", t.ID, t.MAC, t.Role, t.User, t.HostKey, t.CreatedAt.UnixMicro(), t.ExpiresAt.UnixMicro())
	if t.UsesLeft != nil { // rows of a qb that counted no uses have the seal without them
		text += fmt.Sprintf(" %d", *t.UsesLeft)
	}
	if t.Name != "" {
		text += fmt.Sprintf(" %q", t.Name)
	}
	if t.Pending != "" {
		text += fmt.Sprintf(" pending %q", t.Pending)
	}
	if t.SessionOf != "" {
		text += fmt.Sprintf(" session of %q", t.SessionOf)
	}
	return key.TokenSeal(text)
}

// Seals is for rows of an earlier qb, which hold the hash of the secret, or have no seal.
func Seals(key farmkey.Key) postgres.Seals {
	return postgres.Seals{
		Secret: func(t store.Token) []byte { return tokenMAC(key, t, t.MAC) },
		Row:    func(t store.Token) []byte { return tokenSeal(key, t) },
	}
}

// Holds reports whether the row is as this farm wrote it, and good now. A revoked row has no seal.
func Holds(key farmkey.Key, t store.Token, now time.Time) bool {
	return hmac.Equal(tokenSeal(key, t), t.Seal) && !t.Revoked && now.Before(t.ExpiresAt)
}

// IsOf compares in constant time and reports whether the row is that of the token.
func (p Parts) IsOf(key farmkey.Key, t store.Token) bool {
	return hmac.Equal(tokenMAC(key, t, hashSecret(p.Secret)), t.MAC) && string(p.Role) == t.Role
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

// audits are the rows of the audit trail that go with the token; from is the one that a use was taken from, if any.
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
	user, role, days := want.User, want.Role, want.Days
	if !slices.Contains(tokenRoles, role) {
		return "", store.Token{}, api.Errorf(api.KindInvalid, "role %q: use one of admin, operator, user, read-only, worker", role)
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
		return "", store.Token{}, api.Errorf(api.KindInvalid, "uses = %d: use 1 to %d, or 0 for an ordinary token", want.Uses, UsesMost)
	}
	life := want.Life
	if life == 0 {
		life = time.Duration(days) * settings.Day
	}
	random := make([]byte, 40)
	_, _ = rand.Read(random) // never fails; the program ends if the system has no randomness
	id, secret := hex.EncodeToString(random[:8]), base64.RawURLEncoding.EncodeToString(random[8:])
	now := time.Now().UTC().Truncate(time.Microsecond)
	t := store.Token{ID: id, User: user, Role: string(role), CreatedAt: now, ExpiresAt: now.Add(life), HostKey: want.HostKey, Name: want.Name, Pending: want.Pending, SessionOf: want.SessionOf}
	if want.Uses != 0 {
		t.UsesLeft = &want.Uses
	}
	t.MAC = tokenMAC(key, t, hashSecret(secret))
	t.Seal = tokenSeal(key, t)
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

// Shorten lets a token end at a moment if it would live longer. One that is not good stays as it is.
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
		next.Seal = tokenSeal(key, next)
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
	return found && t.User == user && lives && parts.IsOf(key, t) && Holds(key, t, now.AddDate(0, 0, days/2).Add(settings.Day)), nil
}
