package postgres

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qb/supervisor/store"
)

// Tokens of an earlier qb are sealed once: in the step that takes their hashes away, and in the one that gives each row a
// seal. Without that they are revoked: a schema that was put back makes no credential. Revoked ones stay without a seal.
func TestTokensAreSealedOnce(t *testing.T) {
	mac := func(what string, t store.Token) []byte {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %x %s %s %d %d %s", what, t.ID, t.MAC, t.User, t.Role, t.CreatedAt.UnixMicro(), t.ExpiresAt.UnixMicro(), t.HostKey))
		return sum[:]
	}
	secret := func(t store.Token) []byte { return mac("secret", t) }
	row := func(t store.Token) []byte { return mac("row", t) }
	for name, tc := range map[string]struct {
		from   int64
		column string
		seals  Seals
		good   bool
	}{
		"hashes":                       {sealedSecrets - 1, "hash", Seals{secret, row}, true},
		"hashes, no longer expected":   {sealedSecrets - 1, "hash", Seals{nil, row}, false},
		"no seals":                     {sealedRows - 1, "mac", Seals{nil, row}, true},
		"no seals, no longer expected": {sealedRows - 1, "mac", Seals{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			url := newDatabase(t)
			db, _ := migrating(t, url, tc.from)
			old := store.Token{ID: "00000000000000aa", MAC: bytes.Repeat([]byte{7}, 32), User: "ann", Role: "admin", CreatedAt: at(1), ExpiresAt: at(1e6), HostKey: "aa"}
			for _, revoked := range []bool{false, true} {
				if _, err := db.Exec(`INSERT INTO token (id, `+tc.column+`, owner, role, created_at, expires_at, revoked, host_key) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
					old.ID+fmt.Sprint(revoked), old.MAC, old.User, old.Role, old.CreatedAt, old.ExpiresAt, revoked, old.HostKey); err != nil {
					t.Fatal(err)
				}
			}
			p, err := Open(ctx, url, Options{Seals: tc.seals})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			for _, revoked := range []bool{false, true} {
				want := old
				want.ID, want.Revoked, want.Seal = old.ID+fmt.Sprint(revoked), revoked || !tc.good, []byte{}
				if !want.Revoked {
					if tc.from < sealedSecrets {
						want.MAC = secret(want)
					}
					want.Seal = row(want)
				}
				got, _, err := p.Token(ctx, want.ID)
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
			}
		})
	}
}
