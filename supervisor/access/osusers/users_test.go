package osusers

import (
	"os"
	"os/user"
	"slices"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	var all Users
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	group, err := user.LookupGroupId(me.Gid)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // looked up, and remembered
		if u := all.Of(t.Context(), me.Username); u.Account == nil || u.Account.Unknown ||
			int(u.Account.UID) != os.Getuid() || !slices.Contains(u.Groups, group.Name) {
			t.Errorf("%s: %+v", me.Username, u)
		}
		if u := all.Of(t.Context(), "no-such-user-of-qb"); u.Account == nil || !u.Account.Unknown || u.Unsure {
			t.Errorf("an unknown user: %+v", u)
		}
	}
}

// Where looks hang, requests are answered with what was known, or that nothing is.
func TestHangingLooks(t *testing.T) {
	t.Parallel()
	all := Users{underway: atOnce}
	if u := all.Of(t.Context(), "ada"); !u.Unsure || u.Account != nil {
		t.Errorf("nothing is known, but: %+v", u)
	}
	all.known["ada"] = &entry{user: User{Groups: []string{"fx"}}, at: all.known["ada"].at.Add(1)}
	if u := all.Of(t.Context(), "ada"); u.Unsure || !slices.Contains(u.Groups, "fx") {
		t.Errorf("what was known is forgotten: %+v", u)
	}
}
