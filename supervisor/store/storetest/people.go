package storetest

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"qb/supervisor/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// People lists the users that were added, by name.
func (m *Memory) People(context.Context) ([]store.Person, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.SortedFunc(maps.Values(m.people), func(a, b store.Person) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// AddPerson adds a user, whose tokens of before end.
func (m *Memory) AddPerson(_ context.Context, p store.Person, audit ...facts.AuditFacts) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p = rules.NormalPerson(p)
	if _, taken := m.people[p.Name]; taken || len(m.people) >= store.MaxPeople {
		return false, nil
	}
	m.people[p.Name] = p
	m.endTokens(p.Name)
	m.addAudits(audit)
	return true, nil
}

// ChangePerson replaces the row of a user if it still is as before.
func (m *Memory) ChangePerson(_ context.Context, before, next store.Person, audit ...facts.AuditFacts) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, next = rules.NormalPerson(before), rules.NormalPerson(next)
	if now, known := m.people[before.Name]; !known || !bytes.Equal(now.Seal, before.Seal) {
		return false, nil
	}
	next.Name = before.Name
	m.people[next.Name] = next
	if !next.Since.Equal(before.Since) {
		m.endTokens(next.Name)
	}
	m.addAudits(audit)
	return true, nil
}

// RemovePerson removes a user, whose tokens end.
func (m *Memory) RemovePerson(_ context.Context, name string, audit ...facts.AuditFacts) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = rules.Clean(name)
	if _, known := m.people[name]; !known {
		return false, nil
	}
	delete(m.people, name)
	m.endTokens(name)
	m.addAudits(audit)
	return true, nil
}

// UserTokens lists the tokens of a user that are bound to no host, the newest first.
func (m *Memory) UserTokens(_ context.Context, user string) ([]store.Token, error) {
	return page(m.tokensIf(func(t store.Token) bool { return t.User == rules.Clean(user) && t.HostKey == "" }, newestFirst)), nil
}

// endTokens revokes those of a user; m.mu is held.
func (m *Memory) endTokens(user string) {
	m.revoke(func(t store.Token) bool { return t.User == user && t.HostKey == "" })
}
