package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/stdlib"
)

// Tokens of an earlier qb are sealed once, in the step that takes their hashes away. Without a seal they are revoked: a
// schema that was put back makes no credential.
func TestTokensAreSealedOnce(t *testing.T) {
	seal := func(t Token) []byte {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %x %s %s %d", t.ID, t.MAC, t.User, t.Role, t.CreatedAt.UnixMicro()))
		return sum[:]
	}
	for name, tc := range map[string]struct {
		seal    func(Token) []byte
		revoked bool
	}{"with a seal": {seal, false}, "without": {nil, true}} {
		t.Run(name, func(t *testing.T) {
			url := newDatabase(t)
			cfg, err := parse(url)
			if err != nil {
				t.Fatal(err)
			}
			db := stdlib.OpenDB(*cfg)
			defer db.Close()
			provider, err := newProvider(db, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := provider.DownTo(ctx, sealedTokens-1); err != nil {
				t.Fatal(err)
			}
			old := Token{ID: "00000000000000aa", MAC: bytes.Repeat([]byte{7}, 32), User: "ann", Role: "admin", CreatedAt: at(1), ExpiresAt: at(1e6)}
			if _, err := db.Exec(`INSERT INTO token (id, hash, owner, role, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)`,
				old.ID, old.MAC, old.User, old.Role, old.CreatedAt, old.ExpiresAt); err != nil {
				t.Fatal(err)
			}
			p, err := Open(ctx, url, Options{Seal: tc.seal})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			got, found, err := p.Token(ctx, old.ID)
			if err != nil || !found || got.Revoked != tc.revoked {
				t.Fatalf("%+v, %v, %v", got, found, err)
			}
			if tc.seal != nil && !bytes.Equal(got.MAC, seal(old)) {
				t.Errorf("MAC %x", got.MAC)
			}
		})
	}
}
