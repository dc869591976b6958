package credentials

import (
	"os/user"
	"testing"

	"qb/api"
	"qb/supervisor/wire/settings"
)

// The socket is open to those whom the lists name, by name or by group, and always to admins.
func TestAdmitted(t *testing.T) {
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	group, err := user.LookupGroupId(nobody.Gid)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		users, groups string
		role          api.Role
		want          bool
	}{
		{"", "", api.User, true}, {"ada, nobody", "", api.User, true}, {"ada", "", api.User, false},
		{"", group.Name, api.User, true}, {"ada", "daemon", api.User, false}, {"ada", "", api.Admin, true},
	} {
		cfg := settings.DefaultConfig()
		cfg.Users, cfg.Groups = c.users, c.groups
		if err := Admitted(Principal{User: "nobody", Role: c.role}, 65534, &cfg); (err == nil) != c.want {
			t.Errorf("users %q, groups %q, %s: %v", c.users, c.groups, c.role, err)
		}
	}
}
