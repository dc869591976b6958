package credentials

import (
	"context"
	"crypto/hmac"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"time"

	"qb/api"
	"qb/supervisor/lead/farmkey"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
)

// PersonRoles lists the roles that a user can be added with.
var PersonRoles = []api.Role{api.ReadOnly, api.User, api.Operator, api.Admin}

// SealPerson returns the MAC over a user's row. A row that was written by other means than qb has no valid MAC and
// gives no rights.
func SealPerson(key farmkey.Key, p store.Person) []byte {
	return key.UserSeal(fmt.Sprintf("%q %q %q %q %q %t %d %q %d %t %q", p.Name, p.Role, p.Groups, p.Leads, p.SubmitAs,
		p.Disabled,
		p.CreatedAt.UnixMicro(), p.CreatedBy, p.Since.UnixMicro(), p.Rights != nil, p.Rights))
}

// PersonHolds reports whether the row is as this farm wrote it.
func PersonHolds(key farmkey.Key, p store.Person) bool { return hmac.Equal(SealPerson(key, p), p.Seal) }

// IsService reports whether a user is root or the supervisor's own account. Both are admins whatever a row says.
func IsService(name string) bool {
	if name == "root" {
		return true
	}
	u, err := user.Lookup(name)
	return err == nil && (u.Uid == "0" || u.Uid == strconv.Itoa(os.Geteuid()))
}

// Person finds a user's row. Like tokens, rows are read again when they are tokenCacheFor old.
func (c *Table) Person(ctx context.Context, name string) (store.Person, bool, error) {
	p, ok, age := c.person(name)
	if age < tokenCacheFor {
		return p, ok, nil
	}
	if err := c.read(ctx, true); err != nil {
		if age < tokenCacheMost {
			return p, ok, nil
		}
		return store.Person{}, false, problem.Reading("the users", err)
	}
	p, ok, _ = c.person(name)
	return p, ok, nil
}

func (c *Table) person(name string) (p store.Person, ok bool, age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok = c.people[name]
	return p, ok, time.Since(c.at)
}

// Bounded is a principal with what the row of its user gives and takes. A token, made at that time, never gives more
// than the row; of a local user, with a zero time, the row alone decides. Hosts' tokens are no user's. That of a login
// needs a row. OfUsers are the rights of the role user.
func (c *Table) Bounded(ctx context.Context, key farmkey.Key, p Principal, made time.Time,
	ofUsers api.Rights) (Principal, error) {
	p.Rights = p.Role.Rights(ofUsers)
	if p.Role == api.Worker || p.Role == api.Admin && p.Token == "" {
		return p, nil
	}
	row, found, err := c.Person(ctx, p.User)
	if err != nil || !found && !p.Login {
		return p, err
	}
	switch {
	case !found:
		return Principal{User: p.User, Token: p.Token},
			api.Errorf(api.KindUnauthorized, "token %s ended when user %s was removed", p.Token, p.User)
	case !PersonHolds(key, row):
		return Principal{User: p.User, Token: p.Token}, api.Errorf(api.KindUnauthorized,
			"the row of user %s was changed in the database by other means than qb and is refused; an admin removes the user and adds him again with qbadmin user",
			p.User)
	case row.Disabled:
		return Principal{User: p.User, Token: p.Token},
			api.Errorf(api.KindForbidden, "user %s is disabled; ask the farm's administrator", p.User)
	case p.Token != "" && made.Before(row.Since):
		return Principal{User: p.User, Token: p.Token},
			api.Errorf(api.KindUnauthorized, "token %s ended when user %s was added or given another role; log in again",
				p.Token, p.User)
	}
	role := api.Role(row.Role)
	switch p.Rights = RowRights(row, ofUsers); {
	case p.Token == "" || p.Role.Allows(role):
		p.Role = role
	default: // the token has less than its user
		p.Rights &= p.Role.Rights(ofUsers)
	}
	p.Groups = row.Groups
	p.Leads = row.Leads
	p.SubmitAs = row.SubmitAs
	return p, nil
}

// RowRights are the rights that a user's row gives: a set of its own, or that of its role.
func RowRights(row store.Person, ofUsers api.Rights) api.Rights {
	if row.Rights == nil {
		return api.Role(row.Role).Rights(ofUsers)
	}
	rights, _ := api.RightsOf(row.Rights) // a name of a later qb's gives nothing
	return rights | api.MaySee
}

// RightsWith returns the rights that a token of the user with that role would give now.
func (c *Table) RightsWith(ctx context.Context, user string, role api.Role, ofUsers api.Rights) (api.Rights, error) {
	rights := role.Rights(ofUsers)
	row, found, err := c.Person(ctx, user)
	if err != nil || !found || role == api.Worker {
		return rights, err
	}
	of := RowRights(row, ofUsers)
	if !role.Allows(api.Role(row.Role)) {
		of &= rights
	}
	return of, nil
}

// Same says whether a principal still has the rights that a stream began with.
func (p Principal) Same(now Principal) bool {
	return p.Role == now.Role && p.Rights == now.Rights && slices.Equal(p.Groups, now.Groups) &&
		slices.Equal(p.Leads, now.Leads)
}

// SubmitsFor reports whether the principal may submit for an owner with those rights. SubmitAs "*" does not cover
// owners with more rights than a user.
func (p Principal) SubmitsFor(owner string, rights api.Rights) bool {
	if p.User == owner || p.Rights.Has(api.MayAdmin) {
		return true
	}
	if IsService(owner) {
		return false
	}
	return slices.Contains(p.SubmitAs, owner) ||
		slices.Contains(p.SubmitAs, "*") && api.UserRights.Has(rights) && p.Rights.Has(rights&^api.MayLock)
}

// shares says whether two lists have a name in common.
func shares(one, other []string) bool {
	return slices.ContainsFunc(one, func(name string) bool { return slices.Contains(other, name) })
}

// LeadsAny says whether the principal leads one of the groups.
func (p Principal) LeadsAny(groups []string) bool { return shares(p.Leads, groups) }

// SharesGroup says whether the principal belongs to one of the groups, or leads it.
func (p Principal) SharesGroup(groups []string) bool {
	return shares(p.Groups, groups) || p.LeadsAny(groups)
}
