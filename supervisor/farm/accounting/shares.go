package accounting

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"qb/smartshare/fairshare"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

const (
	maxShares    = 100_000 // rows
	maxShare     = 1e9
	maxCredits   = 1_000_000 // rows
	maxCredit    = 1000      // of one row
	maxDepth     = 16        // of accounts
	defaultShare = 1
	maxNameRunes = 255
)

const creditHalfLife = time.Duration(fairshare.CreditHalfLife * float64(time.Second))

// setShare gives a place in the tree of shares its shares.
func (a *Accounts) setShare(s facts.ShareFacts) *outbox.Refusal {
	if err := CheckPath(s.Path); err != nil {
		return outbox.Refused("invalid", "%v", err)
	}
	if !(s.Shares >= 0 && s.Shares <= maxShare) {
		return outbox.Refused("invalid", "shares: %v; use 0 (last in order) to %.0f, 1 is the default", s.Shares, maxShare)
	}
	account := parentOf(s.Path)
	if _, known := a.members.byPath[account]; account != "" && !known {
		return coded(CodeAccountUnknown, "invalid", "path: there is no account %q; qbadmin account add %s makes it one",
			account, account)
	}
	if _, known := a.shares[s.Path]; !known && len(a.shares) >= maxShares {
		return outbox.Refused("limit", "%d places have shares of their own, the limit", maxShares)
	}
	a.shares[s.Path] = s
	return nil
}

// CheckPath refuses what is no place: a user ada, an account show/, a user in it show/ada. Paths go down only: "." and
// ".." would be accounts of that name, and no one means that.
func CheckPath(path string) error {
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	if len(parts) > maxDepth+1 || utf8.RuneCountInString(path) > maxNameRunes {
		return fmt.Errorf("path: %.40q has %d parts; at most %d, and %d characters", path, len(parts), maxDepth+1,
			maxNameRunes)
	}
	for _, part := range parts {
		if part == "" || part == "." || part == ".." || strings.TrimSpace(part) != part ||
			strings.ContainsFunc(part, func(r rune) bool { return r < ' ' || r == utf8.RuneError }) {
			return fmt.Errorf("path: %q is no place in the tree of shares; write ada for a user, show/ for an account, show/ada for a user in it", path)
		}
	}
	return nil
}

// checkCredit refuses credit that cannot be, added at its AddedAt.
func (a *Accounts) checkCredit(c facts.CreditFacts) *outbox.Refusal {
	switch {
	case CheckPath(c.Owner) != nil || strings.Contains(c.Owner, "/"):
		return outbox.Refused("invalid", "user: %q is no user's name", c.Owner)
	case !(c.Amount > 0 && c.Amount <= maxCredit):
		return outbox.Refused("invalid", "credit: %v; use more than 0, at most %d; credit is never taken back, it decays",
			c.Amount, maxCredit)
	case strings.TrimSpace(c.Source) == "" || utf8.RuneCountInString(c.Source) > maxNameRunes:
		return outbox.Refused("invalid",
			"source: say in at most %d characters what the credit is for, such as a publication or a shot", maxNameRunes)
	case c.Date.After(c.AddedAt.Add(24 * time.Hour)):
		return outbox.Refused("invalid", "date: %s lies ahead; credit counts from its date on", c.Date.Format(time.DateOnly))
	case slices.Contains(a.credited[SourceKey(c.Source)], c.Owner):
		return coded(CodeSourceTaken, "conflict", "source: %s has credit for %s already", c.Owner, SourceKey(c.Source))
	case a.credits >= maxCredits:
		return outbox.Refused("limit", "there are %d entries of credit, the limit", maxCredits)
	}
	return nil
}

func (a *Accounts) enterCredit(c facts.CreditFacts) {
	sum, known := a.credit[c.Owner]
	if !known {
		sum.At = c.Date
	}
	a.credit[c.Owner] = sum.Plus(facts.Charge{CPU: c.Amount}, c.Date, creditHalfLife)
	a.credits++
	a.credited.enter(c)
}

// shareOf are the shares of a place as set, else the default.
func (a *Accounts) shareOf(path string) float64 {
	if s, ok := a.shares[path]; ok {
		return s.Shares
	}
	return defaultShare
}
