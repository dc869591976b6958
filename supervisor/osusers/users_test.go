package osusers

import (
	"os"
	"os/user"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	var all Users
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // looked up, and remembered
		if a := all.Of(me.Username); a == nil || a.Unknown || int(a.UID) != os.Getuid() {
			t.Errorf("%s: %+v", me.Username, a)
		}
		if a := all.Of("no-such-user-of-qb"); a == nil || !a.Unknown {
			t.Errorf("an unknown user: %+v", a)
		}
	}
}
