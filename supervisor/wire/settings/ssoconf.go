package settings

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"qb/supervisor/job/facts"
)

// Admission lets users of a group of the provider in who were not added before.
type Admission struct{ Group, Role string }

// claimPattern matches names of claims.
var claimPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./:-]{0,99}$`)
})

// SSO says whether users may log in by single sign-on.
func (c Config) SSO() bool { return c.OIDCIssuer != "" }

// checkSSO looks at the settings of single sign-on.
func (c Config) checkSSO(check func(ok bool, key string, value any, wayOut string)) {
	text := func(s string) string { return fmt.Sprintf("%q", s) }
	check(c.OIDCDays >= 1 && c.OIDCDays <= TokenDaysMost, "supervisor_oidc_token_days", c.OIDCDays,
		fmt.Sprintf("use 1 to %d", TokenDaysMost))
	if _, err := c.Admissions(); err != nil {
		check(false, "supervisor_oidc_admit", text(c.OIDCAdmit), err.Error())
	}
	if !c.SSO() {
		return
	}
	check(SafeURL(c.OIDCIssuer), "supervisor_oidc_issuer", text(c.OIDCIssuer),
		"write the https URL of the provider, as its tokens name it; http is for providers on loopback")
	check(c.OIDCClientID != "", "supervisor_oidc_client_id", text(c.OIDCClientID),
		"write the id under which the provider knows qb")
	check(claimPattern().MatchString(c.OIDCUserClaim), "supervisor_oidc_user_claim", text(c.OIDCUserClaim),
		"write the name of a claim, such as preferred_username")
	check(claimPattern().MatchString(c.OIDCGroupsClaim), "supervisor_oidc_groups_claim", text(c.OIDCGroupsClaim),
		"write the name of a claim, such as groups")
	check(!strings.ContainsAny(c.OIDCDomain, "@ ,"), "supervisor_oidc_domain", text(c.OIDCDomain),
		"write a domain without the @, such as studio.example")
}

// SafeURL reports whether a provider may have this address: traffic to it can be neither read nor changed on the way.
func SafeURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}

// Admissions reads GROUP=ROLE pairs. A provider's group never gives the role admin.
func (c Config) Admissions() ([]Admission, error) {
	var all []Admission
	for _, pair := range facts.SplitList(c.OIDCAdmit) {
		group, role, _ := strings.Cut(pair, "=")
		group, role = strings.TrimSpace(group), strings.TrimSpace(role)
		if group == "" || role != "read-only" && role != "user" && role != "operator" {
			return nil, fmt.Errorf("%q: write GROUP=ROLE with the role read-only, user or operator; admins are added by name",
				pair)
		}
		all = append(all, Admission{group, role})
	}
	return all, nil
}
