package sso

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"qb/api"
	"qb/supervisor/lead/problem"
	"qb/supervisor/wire/settings"
)

// Identity is whom the provider vouches for.
type Identity struct {
	Name   string   // in qb, if there is such a user
	Groups []string // at the provider
}

// verify checks an ID token: issuer, audience, signature by the provider's keys, expiry. The device flow has no nonce;
// instead the token comes from the provider itself, in the answer to this device code.
func verify(ctx context.Context, p *oidc.Provider, raw string, c *settings.Config) (Identity, error) {
	token, err := p.VerifierContext(ctx, &oidc.Config{ClientID: c.OIDCClientID}).Verify(ctx, raw)
	if err != nil {
		return Identity{}, refusal("the provider's ID token does not hold: %s", problem.ClipTo(err.Error(), maxReason))
	}
	var claims map[string]json.RawMessage
	if err := token.Claims(&claims); err != nil {
		return Identity{}, refusal("the provider's ID token cannot be read")
	}
	if party := textOf(claims["azp"]); party != "" && party != c.OIDCClientID || party == "" && len(token.Audience) > 1 {
		return Identity{}, refusal("the provider's ID token was made for another client (azp %q)", problem.Clip(party))
	}
	return identity(claims, c)
}

// identity reads name and groups from the claims of a token that holds.
func identity(claims map[string]json.RawMessage, c *settings.Config) (Identity, error) {
	name := textOf(claims[c.OIDCUserClaim])
	if name == "" {
		return Identity{}, refusal(
			"the provider's ID token has no claim %s with a text; see supervisor_oidc_user_claim and supervisor_oidc_scopes",
			c.OIDCUserClaim)
	}
	if verified := string(claims["email_verified"]); c.OIDCUserClaim == "email" && verified != "true" &&
		verified != `"true"` {
		return Identity{}, refusal("the provider does not say that the email %q is verified", problem.Clip(name))
	}
	if c.OIDCDomain != "" {
		before, domain, found := strings.Cut(name, "@")
		if !found || !strings.EqualFold(domain, c.OIDCDomain) {
			return Identity{}, refusal("%q is not of the domain %s, as supervisor_oidc_domain demands", problem.Clip(name),
				c.OIDCDomain)
		}
		name = before
	}
	return Identity{Name: name, Groups: listOf(claims[c.OIDCGroupsClaim])}, nil
}

// Admit is the role of somebody who was not added, by the first group that admits; "" if none does.
func (i Identity) Admit(list []settings.Admission) string {
	for _, a := range list {
		if slices.Contains(i.Groups, a.Group) {
			return a.Role
		}
	}
	return ""
}

func refusal(format string, args ...any) error {
	return api.Errorf(api.KindUnauthorized, format, args...)
}

// textOf is a claim that is a text; "" if it is none.
func textOf(claim json.RawMessage) (text string) {
	_ = json.Unmarshal(claim, &text)
	return text
}

// listOf is a claim that is a list of texts, or one text.
func listOf(claim json.RawMessage) (list []string) {
	if json.Unmarshal(claim, &list) != nil {
		list = nil
		if one := textOf(claim); one != "" {
			list = []string{one}
		}
	}
	return list
}
