package sso

import (
	"encoding/json"
	"slices"
	"testing"

	"qb/supervisor/wire/settings"
)

// TestIdentity: which name and groups the claims of a good token give.
func TestIdentity(t *testing.T) {
	for claims, want := range map[string]struct{ claim, domain, name string }{
		`{"preferred_username":"ada"}`:                             {"preferred_username", "", "ada"},
		`{"preferred_username":"ada@studio.example"}`:              {"preferred_username", "Studio.Example", "ada"},
		`{"preferred_username":"ada@evil.example"}`:                {"preferred_username", "studio.example", ""},
		`{"preferred_username":"ada@studio.example@evil.example"}`: {"preferred_username", "studio.example", ""},
		`{"preferred_username":" ada"}`:                            {"preferred_username", "studio.example", ""},
		`{"email":"ada@studio.example","email_verified":true}`:     {"email", "studio.example", "ada"},
		`{"email":"ada@studio.example","email_verified":"true"}`:   {"email", "", "ada@studio.example"},
		`{"email":"ada@studio.example","email_verified":false}`:    {"email", "", ""},
		`{"email":"ada@studio.example"}`:                           {"email", "", ""},
		`{"preferred_username":["ada"]}`:                           {"preferred_username", "", ""},
		`{}`:                                                       {"sub", "", ""},
	} {
		c := settings.DefaultConfig()
		c.OIDCUserClaim, c.OIDCDomain = want.claim, want.domain
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(claims), &members); err != nil {
			t.Fatal(err)
		}
		got, err := identity(members, &c)
		if (err == nil) != (want.name != "") || err == nil && got.Name != want.name {
			t.Errorf("%s by %s of %q: %q, %v", claims, want.claim, want.domain, got.Name, err)
		}
	}
}

// TestAdmit: the first pair whose group the user has decides the role, which is never admin.
func TestAdmit(t *testing.T) {
	c := settings.DefaultConfig()
	c.OIDCAdmit = "wranglers=operator, artists=user,guests = read-only"
	list, err := c.Admissions()
	if err != nil {
		t.Fatal(err)
	}
	for role, groups := range map[string][]string{"operator": {"artists", "wranglers"}, "user": {"guests", "artists"},
		"read-only": {"guests"}, "": {"Artists", "artists "}} {
		if got := (Identity{Groups: groups}).Admit(list); got != role {
			t.Errorf("%v is %q, want %q", groups, got, role)
		}
	}
	for claim, want := range map[string][]string{`["a","b"]`: {"a", "b"}, `"a"`: {"a"}, `[1]`: nil, `{}`: nil, ``: nil} {
		if got := listOf(json.RawMessage(claim)); !slices.Equal(got, want) {
			t.Errorf("groups %s: %q", claim, got)
		}
	}
	for _, bad := range []string{"artists=admin", "artists", "=user", "artists=worker"} {
		c.OIDCAdmit = bad
		if err := c.Validate(); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
