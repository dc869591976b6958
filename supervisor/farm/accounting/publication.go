package accounting

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

const (
	maxPublications = 100_000
	maxReported     = 100  // of one user, not decided yet
	maxImport       = 1000 // entries of credit, or accounts, in one change
	reportedCredit  = 1    // for a publication, if the operator says nothing else
)

// The states of a publication.
const (
	Reported = "reported"
	Accepted = "accepted"
	Rejected = "rejected"
)

// SourceKey is the form in which sources are compared: without upper case and outer blanks, and a DOI as doi:10.….
func SourceKey(source string) string {
	key := strings.ToLower(strings.TrimSpace(source))
	bare := key
	for _, prefix := range []string{"https://", "http://", "dx.", "doi.org/", "doi:"} {
		bare = strings.TrimSpace(strings.TrimPrefix(bare, prefix))
	}
	if strings.HasPrefix(bare, "10.") && strings.Contains(bare, "/") && !strings.ContainsFunc(bare, unicode.IsSpace) {
		return "doi:" + bare
	}
	return key
}

// credited are the sources for which there is credit, by source the owners.
type credited map[string][]string

func (c credited) enter(row facts.CreditFacts) {
	key := SourceKey(row.Source)
	c[key] = append(c[key], row.Owner)
}

// PublicationReported is a user's report that something was published. Its reply is facts.PublicationFacts.
type PublicationReported struct {
	Owner, Source string
	Date          time.Time // zero: now
}

func (c PublicationReported) make(a *Accounts, now time.Time, by string) (Changed, *outbox.Refusal) {
	if c.Date.IsZero() {
		c.Date = now
	}
	row := facts.PublicationFacts{Source: SourceKey(c.Source), Owner: c.Owner, Date: facts.RowTime(c.Date),
		State: Reported, By: by, At: facts.RowTime(now)}
	before, known := a.publications[row.Source]
	open := 0
	for _, p := range a.publications {
		if p.Owner == row.Owner && p.State == Reported {
			open++
		}
	}
	switch {
	case row.Source == "" || utf8.RuneCountInString(c.Source) > maxNameRunes ||
		strings.ContainsFunc(c.Source, unicode.IsControl):
		return Changed{}, outbox.Refused("invalid",
			"source: name the publication in at most %d characters, such as doi:10.1000/182", maxNameRunes)
	case c.Date.After(now.Add(24 * time.Hour)):
		return Changed{}, outbox.Refused("invalid", "date: %s lies ahead; report it when it is published",
			c.Date.Format(time.DateOnly))
	case known && before.State != Rejected:
		return Changed{}, coded(CodeSourceTaken, "conflict", "source: %s was reported by %s before and is %s", row.Source,
			before.Owner, before.State)
	case len(a.credited[row.Source]) > 0:
		return Changed{}, coded(CodeSourceTaken, "conflict", "source: there is credit for %s already, of %s", row.Source,
			a.credited[row.Source][0])
	case open >= maxReported:
		return Changed{}, outbox.Refused("limit", "%d publications of %s are not decided yet, the limit", open, row.Owner)
	case !known && len(a.publications) >= maxPublications:
		return Changed{}, outbox.Refused("limit", "there are %d publications, the limit", maxPublications)
	}
	a.publications[row.Source] = row
	return Changed{[]facts.Write{facts.PutPublication{Publication: row}}, "publication-reported",
		fmt.Sprintf("%s reports %s", row.Owner, row.Source), row}, nil
}

// CodeSourceTaken refuses a source that was reported or credited before.
const CodeSourceTaken = "source-taken"

// PublicationDecided accepts what a user reported, and gives credit for it, or rejects it. Its reply is
// facts.PublicationFacts.
type PublicationDecided struct {
	Source string
	Accept bool
	Amount float64 // of credit; 0: 1
}

func (c PublicationDecided) make(a *Accounts, now time.Time, by string) (Changed, *outbox.Refusal) {
	row, known := a.publications[SourceKey(c.Source)]
	switch {
	case !known:
		return Changed{}, outbox.Refused("not-found", "nobody reported %.100q; qbadmin credit reports shows all", c.Source)
	case row.State != Reported:
		return Changed{}, outbox.Refused("conflict", "%s is %s, by %s", row.Source, row.State, row.By)
	}
	row.State = Rejected
	row.By = by
	row.At = facts.RowTime(now)
	done := Changed{Event: "publication-decided"}
	if c.Accept {
		row.State = Accepted
		credit, r := CreditAdded{Owner: row.Owner, Amount: cmp.Or(c.Amount, reportedCredit), Source: row.Source,
			Date: row.Date}.make(a, now, by)
		if r != nil {
			return Changed{}, r
		}
		done.Rows = credit.Rows
	}
	a.publications[row.Source] = row
	done.Rows = append(done.Rows, facts.PutPublication{Publication: row})
	done.Text, done.Reply = fmt.Sprintf("%s of %s is %s", row.Source, row.Owner, row.State), row
	return done, nil
}

// Publications are all, by source.
func (a *Accounts) Publications() []facts.PublicationFacts {
	list := make([]facts.PublicationFacts, 0, len(a.publications))
	for _, source := range slices.Sorted(maps.Keys(a.publications)) {
		list = append(list, a.publications[source])
	}
	return list
}

// CreditsAdded gives credit to many, or to none if an entry cannot be. Its reply is []facts.CreditFacts.
type CreditsAdded struct{ List []CreditAdded }

func (c CreditsAdded) make(a *Accounts, now time.Time, by string) (Changed, *outbox.Refusal) {
	if len(c.List) == 0 || len(c.List) > maxImport {
		return Changed{}, outbox.Refused("invalid", "%d entries of credit; give 1 to %d at once", len(c.List), maxImport)
	}
	rows, seen := make([]facts.CreditFacts, len(c.List)), map[string]int{}
	for n, entry := range c.List {
		rows[n] = entry.row(now, by)
		r := a.checkCredit(rows[n])
		key := rows[n].Owner + "\x00" + SourceKey(rows[n].Source)
		if first, twice := seen[key]; r == nil && twice {
			r = coded(CodeSourceTaken, "conflict", "source: %s is in entry %d already, of the same user", rows[n].Source, first)
		}
		if seen[key] = n + 1; r != nil {
			r.Text = fmt.Sprintf("entry %d: %s; nothing was taken", n+1, r.Text)
			return Changed{}, r
		}
	}
	if a.credits+len(rows) > maxCredits {
		return Changed{}, outbox.Refused("limit", "there are %d entries of credit; at most %d", a.credits, maxCredits)
	}
	done := Changed{Event: "credit-added", Text: facts.Several(len(rows), "entry of credit"), Reply: rows}
	for _, row := range rows {
		a.enterCredit(row)
		done.Rows = append(done.Rows, facts.AddCredit{Credit: row})
	}
	return done, nil
}
