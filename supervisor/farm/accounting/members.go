package accounting

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

const (
	maxAccounts = 10_000
	maxMembers  = 1000 // names in one list of an account
	maxNamed    = 20   // accounts in a refusal
	everybody   = "*"
)

// Why an account is refused.
const (
	CodeAccountUnknown = "account-unknown"    // no one may charge to it
	CodeNotMember      = "account-not-member" // others may
	CodeAccountNeeded  = "account-needed"     // the user has several and no default
	CodeGroupsUnknown  = "groups-unknown"     // whether he may is not known now
)

// Groups are the groups of a user.
type Groups struct {
	Names  []string
	Unsure bool // there may be more
}

// members are the known accounts, and by user and by group the ones that list it.
type members struct {
	byPath   map[string]facts.AccountFacts
	users    map[string]map[string]bool
	groups   map[string]map[string]bool
	defaults map[string]string // by user
}

func newMembers(rows []facts.AccountFacts) members {
	m := members{map[string]facts.AccountFacts{}, map[string]map[string]bool{}, map[string]map[string]bool{},
		map[string]string{}}
	for _, row := range rows {
		m.put(row)
	}
	return m
}

func (m *members) put(row facts.AccountFacts) {
	m.drop(row.Path)
	m.byPath[row.Path] = row
	m.each(row, func(index map[string]map[string]bool, name string) {
		if index[name] == nil {
			index[name] = map[string]bool{}
		}
		index[name][row.Path] = true
	})
	for _, name := range row.DefaultFor {
		m.defaults[name] = row.Path
	}
}

// each visits the users and groups of an account in their indexes.
func (m *members) each(row facts.AccountFacts, visit func(index map[string]map[string]bool, name string)) {
	for _, name := range slices.Concat(row.Users, row.DefaultFor) {
		visit(m.users, name)
	}
	for _, name := range row.Groups {
		visit(m.groups, name)
	}
}

func (m *members) drop(path string) {
	row := m.byPath[path]
	m.each(row, func(index map[string]map[string]bool, name string) {
		if delete(index[name], path); len(index[name]) == 0 {
			delete(index, name)
		}
	})
	for _, name := range row.DefaultFor {
		if m.defaults[name] == path {
			delete(m.defaults, name)
		}
	}
	delete(m.byPath, path)
}

// of are the accounts of a user, by path.
func (m *members) of(user string, g Groups) []string {
	all := map[string]bool{}
	maps.Copy(all, m.users[user])
	maps.Copy(all, m.users[everybody])
	for _, group := range g.Names {
		maps.Copy(all, m.groups[group])
	}
	return slices.Sorted(maps.Keys(all))
}

// Open says that anybody may name any account, which then is a tag for reports alone.
func (a *Accounts) Open() bool {
	return a.policy.Accounts == "open"
}

// Place is where a payer is in the tree of shares: in his account, if that is known, else directly under the farm.
func (a *Accounts) Place(p facts.Payer) facts.Payer {
	if _, known := a.members.byPath[p.Account]; !known || a.Open() {
		p.Account = ""
	}
	return p
}

// List are the known accounts, by path.
func (a *Accounts) List() []facts.AccountFacts {
	list := make([]facts.AccountFacts, 0, len(a.members.byPath))
	for _, path := range slices.Sorted(maps.Keys(a.members.byPath)) {
		list = append(list, a.members.byPath[path])
	}
	return list
}

// Past are the accounts that were charged and are not known, with the users who were, by path.
func (a *Accounts) Past() map[string][]string {
	past := map[string][]string{}
	for p := range a.usage {
		if _, known := a.members.byPath[p.Account]; p.Account != "" && !known {
			past[p.Account] = append(past[p.Account], p.Owner)
		}
	}
	for _, users := range past {
		slices.Sort(users)
	}
	return past
}

// Choose is the account to which a user's job is charged that names one, or none.
func (a *Accounts) Choose(user string, g Groups, asked string) (string, *outbox.Refusal) {
	m := &a.members
	own := m.of(user, g)
	switch {
	case asked != "" && (a.Open() || slices.Contains(own, asked)):
		return asked, nil
	case asked == "" && m.defaults[user] != "":
		return m.defaults[user], nil
	case g.Unsure && !a.Open() && len(m.groups) > 0:
		return "", coded(CodeGroupsUnknown, "unavailable",
			"account: the groups of %s cannot be looked up now, and accounts go by groups; try again in a minute", user)
	case asked != "":
		code, what := CodeAccountUnknown, "there is no such account"
		if _, known := m.byPath[asked]; known {
			code, what = CodeNotMember, user+" is not a member of it"
		}
		return "", coded(code, "forbidden", "account %q: %s; %s", asked, what, choice(user, own))
	case m.defaults[everybody] != "" || a.Open():
		return m.defaults[everybody], nil
	case len(own) > 1:
		return "", coded(CodeAccountNeeded, "invalid", "account: %s has several accounts and no default; %s", user,
			choice(user, own))
	case len(own) == 1:
		return own[0], nil
	}
	return "", nil
}

// choice tells which accounts a user may name.
func choice(user string, own []string) string {
	switch {
	case len(own) == 0:
		return fmt.Sprintf("%s has no account: leave -account out, or have an operator add %s (qbadmin account add)", user,
			user)
	case len(own) > maxNamed:
		return fmt.Sprintf("use one of %s and %d others (qbadmin account list)", strings.Join(own[:maxNamed], ", "),
			len(own)-maxNamed)
	}
	return "use " + strings.Join(own, ", ")
}

func coded(code, kind, format string, args ...any) *outbox.Refusal {
	r := outbox.Refused(kind, format, args...)
	r.Code = code
	return r
}

// AccountAdded adds an account, or members to one. Its reply is facts.AccountFacts.
type AccountAdded struct {
	Path                      string
	Users, Groups, DefaultFor []string
}

func (c AccountAdded) make(a *Accounts, now time.Time, by string) (Changed, *outbox.Refusal) {
	m := &a.members
	row, known := m.byPath[c.Path]
	if r := a.checkAccount(c, known); r != nil {
		return Changed{}, r
	}
	row = facts.AccountFacts{Path: c.Path, By: by, At: facts.RowTime(now), Users: with(row.Users, c.Users),
		Groups:     with(row.Groups, c.Groups),
		DefaultFor: with(row.DefaultFor, c.DefaultFor)}
	if most := max(len(row.Users), len(row.Groups), len(row.DefaultFor)); most > maxMembers {
		return Changed{}, outbox.Refused("limit",
			"account %q: %d names in a list; at most %d. Use groups (-groups), or * for everybody", c.Path, most, maxMembers)
	}
	done := Changed{Event: "account-added", Text: describe(row), Reply: row}
	for _, user := range c.DefaultFor { // a user has one default
		other, has := m.byPath[m.defaults[user]]
		if !has || other.Path == row.Path {
			continue
		}
		other.Users, other.DefaultFor = with(other.Users, []string{user}), without(other.DefaultFor, []string{user})
		m.put(other)
		done.Rows = append(done.Rows, facts.PutAccount{Account: other})
	}
	m.put(row)
	done.Rows = append(done.Rows, facts.PutAccount{Account: row})
	return done, nil
}

// AccountsAdded adds many accounts and members, or none if an entry is refused. Its reply is how many entries there
// were.
type AccountsAdded struct{ List []AccountAdded }

func (c AccountsAdded) make(a *Accounts, now time.Time, by string) (Changed, *outbox.Refusal) {
	if len(c.List) == 0 || len(c.List) > maxImport {
		return Changed{}, outbox.Refused("invalid", "%d accounts; give 1 to %d at once", len(c.List), maxImport)
	}
	before := a.List()
	all := Changed{Event: "account-added", Text: facts.Several(len(c.List), "account"), Reply: len(c.List)}
	for n, entry := range c.List {
		done, r := entry.make(a, now, by)
		if r != nil {
			a.members = newMembers(before)
			r.Text = fmt.Sprintf("entry %d: %s; nothing was taken", n+1, r.Text)
			return Changed{}, r
		}
		all.Rows = append(all.Rows, done.Rows...)
	}
	return all, nil
}

func (a *Accounts) checkAccount(c AccountAdded, known bool) *outbox.Refusal {
	if strings.HasSuffix(c.Path, "/") || CheckPath(c.Path+"/x") != nil {
		return outbox.Refused("invalid",
			"account: %.40q is no path; write show, or show/shot for an account in it, at most %d deep and without . or ..",
			c.Path, maxDepth)
	}
	parent := parentOf(c.Path)
	if _, there := a.members.byPath[parent]; parent != "" && !there {
		return outbox.Refused("invalid", "account %q: there is no account %q; add that first", c.Path, parent)
	}
	if !known && len(a.members.byPath) >= maxAccounts {
		return outbox.Refused("limit", "there are %d accounts, the limit", maxAccounts)
	}
	for _, list := range [][]string{c.Users, c.Groups, c.DefaultFor} {
		for _, name := range list {
			if utf8.RuneCountInString(name) > maxNameRunes || CheckPath(name) != nil || strings.Contains(name, "/") {
				return outbox.Refused("invalid", "account %q: %.40q is no name of a user or group", c.Path, name)
			}
		}
	}
	return nil
}

// AccountRemoved removes members of an account or, if none are named, the account. Its reply is facts.AccountFacts.
// A former member has no default there either.
type AccountRemoved struct {
	Path                      string
	Users, Groups, DefaultFor []string
}

func (c AccountRemoved) make(a *Accounts, now time.Time, by string) (Changed, *outbox.Refusal) {
	m := &a.members
	row, known := m.byPath[c.Path]
	if !known {
		return Changed{}, outbox.Refused("not-found", "there is no account %q; qbadmin account list shows all", c.Path)
	}
	if len(c.Users)+len(c.Groups)+len(c.DefaultFor) == 0 {
		for path := range m.byPath {
			if strings.HasPrefix(path, c.Path+"/") {
				return Changed{}, outbox.Refused("conflict", "account %q has accounts below it; remove those first", c.Path)
			}
		}
		m.drop(c.Path)
		return Changed{[]facts.Write{facts.DropAccount{Path: c.Path}}, "account-removed", c.Path + " is no account any more",
			row}, nil
	}
	for _, part := range []struct{ has, names []string }{{with(row.Users, row.DefaultFor), c.Users},
		{row.Groups, c.Groups}, {row.DefaultFor, c.DefaultFor}} {
		if strangers := without(part.names, part.has); len(strangers) > 0 {
			return Changed{}, outbox.Refused("invalid", "account %q: %.40q is not in that list of it (qbadmin account list)",
				c.Path, strangers[0])
		}
	}
	row.By, row.At = by, facts.RowTime(now)
	// who only has no default any more stays a member
	row.Users = with(without(row.Users, c.Users), without(c.DefaultFor, c.Users))
	row.Groups, row.DefaultFor = without(row.Groups, c.Groups), without(without(row.DefaultFor, c.DefaultFor), c.Users)
	m.put(row)
	return Changed{[]facts.Write{facts.PutAccount{Account: row}}, "account-removed", describe(row), row}, nil
}

// describe tells an account's members.
func describe(row facts.AccountFacts) string {
	text := "account " + row.Path
	for _, part := range []struct {
		what  string
		names []string
	}{{"users", row.Users}, {"groups", row.Groups}, {"default for", row.DefaultFor}} {
		if len(part.names) > 0 {
			text += "; " + part.what + " " + strings.Join(part.names, ",")
		}
	}
	return text
}

// with is a list and more names, sorted, each once; never nil.
func with(list, more []string) []string {
	all := slices.Concat([]string{}, list, more)
	slices.Sort(all)
	return slices.Compact(all)
}

// without is a list less some names; never nil.
func without(list, names []string) []string {
	left := make([]string, 0, len(list))
	for _, name := range list {
		if !slices.Contains(names, name) {
			left = append(left, name)
		}
	}
	return left
}
