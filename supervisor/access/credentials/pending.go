package credentials

import (
	"cmp"
	"context"
	"slices"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/farmkey"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

// A host that joins while supervisor_approve_hosts is set waits: its token holds the host's name and is good for
// nothing until a person approves the host.

const (
	pendingFor  = settings.Day
	pendingMost = 200 // hosts
)

// Fingerprint is as much of a host's key as people compare.
func Fingerprint(hostKey string) string { return hostKey[:min(len(hostKey), 32)] }

// MustWait says whether a host with that key has to wait: unless it has a valid token that does not. So many hosts may
// wait at a time.
func MustWait(ctx context.Context, key farmkey.Key, r store.Reader, waiting []store.Token,
	hostKey string) (bool, error) {
	list, err := r.HostTokens(ctx, hostKey)
	if err != nil {
		return false, problem.Reading("a host's tokens", err)
	}
	now := time.Now()
	if slices.ContainsFunc(list, func(t store.Token) bool { return t.Pending == "" && Holds(key, t, now) }) {
		return false, nil
	}
	if len(waiting) >= pendingMost && !slices.ContainsFunc(waiting, func(t store.Token) bool {
		return t.HostKey == hostKey
	}) {
		return false, &api.Error{Kind: api.KindLimit, Limit: "pending-hosts", RetryAfter: time.Hour,
			Text: "too many hosts wait for approval: an admin approves some with qbadmin worker -approve, or removes them with -remove; qbhosts lists them"}
	}
	return true, nil
}

// Wait lets the host of that name wait, instead of the life that was wanted.
func (want Request) Wait(host string) Request {
	want.Pending, want.Life = host, pendingFor
	return want
}

// Waiting are the tokens of hosts that wait, as they were last read.
func (c *Table) Waiting(key farmkey.Key, now time.Time) []store.Token {
	c.mu.Lock()
	all := make([]store.Token, 0, len(c.byID))
	for _, t := range c.byID {
		all = append(all, t.Token)
	}
	c.mu.Unlock()
	return Waiting(key, all, now)
}

// Waiting are the tokens whose hosts wait for approval, one for each host, sorted by name and key.
func Waiting(key farmkey.Key, all []store.Token, now time.Time) (list []store.Token) {
	for _, t := range all {
		if t.Pending != "" && Holds(key, t, now) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b store.Token) int {
		return cmp.Or(cmp.Compare(a.Pending, b.Pending), cmp.Compare(a.HostKey, b.HostKey), b.CreatedAt.Compare(a.CreatedAt),
			cmp.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(list, func(a, b store.Token) bool {
		return a.HostKey == b.HostKey && a.Pending == b.Pending
	})
}

// Approve ends the wait of all tokens of a host, which then live for so many days.
func Approve(ctx context.Context, key farmkey.Key, r store.Reader, hostKey string, days int,
	audit []facts.AuditFacts) error {
	list, err := r.HostTokens(ctx, hostKey)
	if err != nil {
		return problem.Reading("a host's tokens", err)
	}
	now := time.Now()
	for _, before := range list {
		if before.Pending == "" || !Holds(key, before, now) {
			continue
		}
		next := before
		next.Pending, next.ExpiresAt = "", now.UTC().Truncate(time.Microsecond).Add(time.Duration(days)*settings.Day)
		next.Seal = TokenSeal(key, next)
		done, err := r.ChangeToken(ctx, before, next, audit...)
		if err != nil {
			return problem.Reading("approving a host", err)
		}
		if !done {
			return api.Errorf(api.KindUnavailable, "token %s is changed by others at the same time; try again", before.ID)
		}
		audit = nil
	}
	return nil
}
