package postgres

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// Users are added once, changed as they were read, and removed; their tokens end in the same step, those of hosts do
// not.
func TestPeople(t *testing.T) {
	audit := func(n int) facts.AuditFacts {
		return facts.AuditFacts{At: at(float64(n)), Who: "boss", Verb: "people", Object: fmt.Sprint("step ", n),
			Outcome: "done"}
	}
	onPostgres(t, func(t *testing.T, s *Store) {
		good := func() (names string) {
			for _, one := range must(s.GoodTokens(ctx, at(1)))(t) {
				names += one.ID + " "
			}
			return names
		}
		token := func(id, user, host string) {
			one := store.Token{ID: id, MAC: make([]byte, 32), Seal: []byte(id), User: user, Role: "user", CreatedAt: at(0),
				ExpiresAt: at(100), HostKey: host}
			if err := s.CreateToken(ctx, one); err != nil {
				t.Fatal(err)
			}
		}
		token("1", "ada", "")
		ada := store.Person{Name: "ada", Role: "user", Groups: []string{"fx", "comp"}, Leads: []string{"fx"},
			SubmitAs: []string{"*"}, CreatedAt: at(1), CreatedBy: "boss", Since: at(1), Seal: []byte("a")}
		bob := store.Person{Name: "bob", Role: "admin", CreatedAt: at(2), CreatedBy: "boss", Since: at(2), Seal: []byte("b")}
		for n, one := range []store.Person{bob, ada} {
			if !must(s.AddPerson(ctx, one, audit(n)))(t) {
				t.Errorf("%s was not added", one.Name)
			}
		}
		if must(s.AddPerson(ctx, ada, audit(8)))(t) {
			t.Error("ada was added twice")
		}
		if got := good(); got != "" {
			t.Errorf("tokens of before a user was added are good: %s", got)
		}
		token("2", "ada", "")
		token("3", "bob", "")
		token("4", "ada", "the key of a host")
		if diff := cmp.Diff([]store.Person{ada, bob}, must(s.People(ctx))(t)); diff != "" {
			t.Errorf("users (-want +got):\n%s", diff)
		}
		lead := bob
		lead.Leads, lead.Rights, lead.Seal = []string{"fx"}, []string{"admin", "see"}, []byte("b2")
		if !must(s.ChangePerson(ctx, bob, lead, audit(2)))(t) || must(s.ChangePerson(ctx, bob, lead, audit(8)))(t) {
			t.Error("bob was not changed once")
		}
		if got := good(); got != "3 2 4 " && got != "2 3 4 " {
			t.Errorf("good tokens: %s", got)
		}
		off := ada
		off.Disabled, off.Since, off.Seal = true, at(9), []byte("a2")
		if !must(s.ChangePerson(ctx, ada, off, audit(3)))(t) || good() != "3 4 " {
			t.Errorf("good tokens with ada disabled: %s", good())
		}
		if diff := cmp.Diff([]store.Person{off, lead}, must(s.People(ctx))(t)); diff != "" {
			t.Errorf("users after the changes (-want +got):\n%s", diff)
		}
		if !must(s.RemovePerson(ctx, "bob", audit(4)))(t) || must(s.RemovePerson(ctx, "bob", audit(8)))(t) || good() != "4 " {
			t.Errorf("good tokens without bob: %s", good())
		}
		var steps string
		for _, row := range must(s.AuditLog(ctx, store.AuditQuery{User: "boss"}))(t) {
			steps += row.Object + ", "
		}
		if steps != "step 4, step 3, step 2, step 1, step 0, " {
			t.Errorf("the trail tells of %s", steps)
		}
	})
}

// A user's tokens are listed with their names, those of hosts are not.
func TestUserTokens(t *testing.T) {
	onPostgres(t, func(t *testing.T, s *Store) {
		for n, host := range []string{"", "the key of a host", ""} {
			one := store.Token{ID: fmt.Sprint(n), MAC: make([]byte, 32), Seal: []byte("s"), User: "eve", Role: "user",
				CreatedAt: at(float64(n)), ExpiresAt: at(9), HostKey: host, Name: "ws\x00"}
			if err := s.CreateToken(ctx, one); err != nil {
				t.Fatal(err)
			}
		}
		if of := must(s.UserTokens(ctx, "eve"))(t); len(of) != 2 || of[0].ID != "2" || of[1].ID != "0" ||
			of[0].Name != "ws\uFFFD" {
			t.Errorf("tokens of eve: %+v", of)
		}
		if of := must(s.UserTokens(ctx, "ada"))(t); len(of) != 0 {
			t.Errorf("tokens of ada: %+v", of)
		}
	})
}
