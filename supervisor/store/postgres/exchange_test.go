package postgres

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// A use of a token is exchanged once, however many ask at a time; what was made comes with the use that it took, and
// with the row of the audit trail.
func TestExchangeToken(t *testing.T) {
	uses := func(n int) *int { return &n }
	token := func(id, host string) store.Token {
		return store.Token{ID: id, MAC: make([]byte, 32), Seal: []byte(id), User: "worker", Role: "worker", CreatedAt: at(1),
			ExpiresAt: at(100), HostKey: host}
	}
	onPostgres(t, func(t *testing.T, s *Store) {
		join := token("join", "")
		join.UsesLeft = uses(1)
		for _, one := range []store.Token{join, token("plain", "")} {
			if err := s.CreateToken(ctx, one); err != nil {
				t.Fatal(err)
			}
		}
		after := join
		after.UsesLeft, after.Seal = uses(0), []byte("join 0")
		var done atomic.Int32
		var all sync.WaitGroup
		for n := range 8 {
			all.Go(func() {
				ok, err := s.ExchangeToken(ctx, join, after, token(fmt.Sprint("made", n), "k"),
					facts.AuditFacts{At: at(2), Who: "worker", Verb: "enrol", Object: fmt.Sprint("token made", n), Outcome: "done"})
				if err != nil {
					t.Error(err)
				}
				if ok {
					done.Add(1)
				}
			})
		}
		all.Wait()
		if got := must(s.HostTokens(ctx, "k"))(t); done.Load() != 1 || len(got) != 1 {
			t.Errorf("%d were exchanged, for %+v", done.Load(), got)
		}
		if rows := must(s.AuditLog(ctx, store.AuditQuery{Limit: 10}))(t); len(rows) != 1 {
			t.Errorf("the audit trail has %+v", rows)
		}
		if got, _, err := s.Token(ctx, "join"); err != nil || !cmp.Equal(got, after) {
			t.Errorf("left is %+v, %v", got, err)
		}
		for name, from := range map[string]store.Token{"used up": after, "an ordinary token": token("plain", ""),
			"unknown": token("none", "")} {
			if ok, err := s.ExchangeToken(ctx, from, after, token("late", "k")); ok || err != nil {
				t.Errorf("%s: %v, %v", name, ok, err)
			}
		}
		// A token that cannot be added takes no use.
		again := token("again", "")
		again.UsesLeft = uses(1)
		if err := s.CreateToken(ctx, again); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ExchangeToken(ctx, again, after, token("plain", "k")); err == nil {
			t.Error("an id was given twice")
		}
		if got, _, err := s.Token(ctx, "again"); err != nil || *got.UsesLeft != 1 {
			t.Errorf("left is %+v, %v", got, err)
		}
		if _, err := s.RevokeToken(ctx, "again"); err != nil {
			t.Fatal(err)
		}
		revoked, _, _ := s.Token(ctx, "again")
		if ok, err := s.ExchangeToken(ctx, revoked, after, token("late", "k")); ok || err != nil {
			t.Errorf("revoked: %v, %v", ok, err)
		}
		if got := must(s.HostTokens(ctx, ""))(t); len(got) != 0 {
			t.Errorf("tokens of no host: %+v", got)
		}
	})
}
