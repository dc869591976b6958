package rules

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// What follows makes facts such that Postgres keeps them exactly; both stores apply it to all that comes in.

// Clean replaces what Postgres cannot keep in text.
func Clean[S ~string](s S) S {
	if !strings.ContainsRune(string(s), 0) && utf8.ValidString(string(s)) {
		return s
	}
	return S(strings.ReplaceAll(strings.ToValidUTF8(string(s), "\uFFFD"), "\x00", "\uFFFD"))
}

// CleanAll returns nil for an empty list, as reading it back does.
func CleanAll(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	for i := range list {
		list[i] = Clean(list[i])
	}
	return list
}

// CleanTags is Clean for tags.
func CleanTags(t facts.Tags) facts.Tags {
	for n := range t {
		t[n] = Clean(t[n])
	}
	return t
}

// cleanMap returns a copy with clean names and values, nil for an empty map.
func cleanMap(m map[string]string) map[string]string {
	out := cleanNames(m)
	for name, value := range out {
		out[name] = Clean(value)
	}
	return out
}

// cleanNames returns a copy, nil for an empty map.
func cleanNames[V any](m map[string]V) map[string]V {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]V, len(m))
	for name, amount := range m {
		out[Clean(name)] = amount
	}
	return out
}

// Exact cuts a time to what a timestamptz holds; zero stays zero.
func Exact(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Second is the begin of the second that a time is in.
func Second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// NotBefore is t, or least if that is later.
func NotBefore(t, least time.Time) time.Time {
	if t.Before(least) {
		return least
	}
	return t
}

// NormalJob is the normal form of Job: what a store keeps of it.
func NormalJob(j facts.JobFacts) facts.JobFacts {
	NormaliseJob(&j)
	return j
}

// NormaliseJob is NormalJob in place.
func NormaliseJob(j *facts.JobFacts) {
	for _, s := range []*string{&j.Submission, &j.User, &j.BlockedBy} {
		*s = Clean(*s)
	}
	for i := range facts.Attributes {
		switch v := facts.Attributes[i].Value(j).(type) {
		case *string:
			*v = Clean(*v)
		case *agenda.Order:
			*v = Clean(*v)
		case *[]string:
			*v = CleanAll(*v)
		case *map[string]string:
			*v = cleanMap(*v)
		}
	}
	j.WaitFor = append([]facts.Link(nil), j.WaitFor...)
	j.SubmittedAt, j.FinishedAt = Exact(j.SubmittedAt), Exact(j.FinishedAt)
	if !j.FinishedAt.IsZero() {
		j.FinishedAt = NotBefore(j.FinishedAt, j.SubmittedAt)
	}
}

// NormalHost is the normal form of Host: what a store keeps of it.
func NormalHost(h facts.HostFacts) facts.HostFacts {
	h.ID = Clean(h.ID)
	for _, s := range []*string{&h.MachineID, &h.Boot, &h.StateID, &h.Cluster, &h.LockedBy, &h.LockReason} {
		*s = Clean(*s)
	}
	h.Groups, h.Properties = CleanAll(h.Groups), cleanMap(h.Properties)
	h.Resources = cleanNames(h.Resources)
	h.SeenAt = Exact(h.SeenAt)
	return h
}

// NormalAttempt is the normal form of Attempt: what a store keeps of it.
func NormalAttempt(a facts.AttemptFacts) facts.AttemptFacts {
	a.Host = Clean(a.Host)
	a.Boot = Clean(a.Boot)
	a.StateID = Clean(a.StateID)
	a.Owner = Clean(a.Owner)
	a.Why = NormalWhy(a.Why)
	a.StartedAt = Exact(a.StartedAt)
	a.EndedAt = Exact(a.EndedAt)
	a.SuspendedAt = Exact(a.SuspendedAt)
	a.ReleasedAt, a.ResumingAt = Exact(a.ReleasedAt), Exact(a.ResumingAt)
	a.Holds = cleanNames(a.Holds)
	if len(a.Devices) == 0 {
		a.Devices = nil
	}
	return a
}

// NormalEvent is the normal form of Event: what a store keeps of it.
func NormalEvent(e facts.EventFacts) facts.EventFacts {
	e.At = Exact(e.At)
	e.Type = Clean(e.Type)
	e.Host = Clean(e.Host)
	e.By = Clean(e.By)
	e.Why = NormalWhy(e.Why)
	return e
}

// NormalWhy is the normal form of Why: what a store keeps of it.
func NormalWhy(w facts.Why) facts.Why {
	p := &w.Params
	w.Reason = Clean(w.Reason)
	w.Cause = Clean(w.Cause)
	p.Host = Clean(p.Host)
	for _, s := range []*string{&p.By, &p.User, &p.Share, &p.Outcome, &p.Resource, &p.Option} {
		*s = Clean(*s)
	}
	return w
}

// NormalMarks is the normal form of Marks: what a store keeps of it.
func NormalMarks(marks []facts.Mark) []facts.Mark {
	marks = slices.Clone(marks)
	for i := range marks {
		marks[i].By, marks[i].At = Clean(marks[i].By), Exact(marks[i].At)
	}
	return marks
}

// NormalAnswer is the normal form of Answer: what a store keeps of it.
func NormalAnswer(a facts.AnswerFacts) (facts.AnswerFacts, error) {
	a.User = Clean(a.User)
	a.Key = Clean(a.Key)
	a.Body = Clean(a.Body)
	a.At = Exact(a.At)
	if a.Key == "" || len(a.Hash) != 32 || a.At.IsZero() {
		return a, fmt.Errorf(
			"the answer to key %q of %q at %v has a hash of %d bytes; it must have a key, a time and a SHA-256", a.Key, a.User,
			a.At, len(a.Hash))
	}
	return a, nil
}

// NormalAudit is the normal form of Audit: what a store keeps of it.
func NormalAudit(a facts.AuditFacts) facts.AuditFacts {
	for _, s := range []*string{&a.Who, &a.Token, &a.Origin, &a.Verb, &a.Object, &a.Code, &a.Detail, &a.Request} {
		*s = Clean(*s)
	}
	a.Detail = cmp.Or(a.Detail, "{}")
	a.At, a.Times = Exact(a.At), max(1, a.Times)
	return a
}

// NormalToken is the normal form of Token: what a store keeps of it.
func NormalToken(t store.Token) store.Token {
	t.User = Clean(t.User)
	t.Name = Clean(t.Name)
	t.Pending = Clean(t.Pending)
	t.SessionOf = Clean(t.SessionOf)
	t.CreatedAt = Exact(t.CreatedAt)
	t.ExpiresAt = Exact(t.ExpiresAt)
	t.LastUsed = Exact(t.LastUsed)
	return t
}

// NormalPerson is the normal form of Person.
func NormalPerson(p store.Person) store.Person {
	p.Name, p.CreatedBy = Clean(p.Name), Clean(p.CreatedBy)
	p.Groups = CleanAll(p.Groups)
	p.Leads = CleanAll(p.Leads)
	p.SubmitAs = CleanAll(p.SubmitAs)
	if p.Rights != nil {
		p.Rights = append([]string{}, CleanAll(p.Rights)...)
	}
	p.CreatedAt, p.Since = Exact(p.CreatedAt), Exact(p.Since)
	return p
}

func normalUsage(u facts.UsageFacts) (facts.UsageFacts, error) {
	u.Account = Clean(u.Account)
	u.Owner = Clean(u.Owner)
	u.At = Exact(u.At)
	for _, v := range []float64{u.CPU, u.RAM, u.GPU, u.Scratch} {
		if !(v >= 0) || math.IsInf(v, 0) || u.At.IsZero() {
			return u, fmt.Errorf("usage of %q in %q cannot be %v at %v", u.Owner, u.Account, u.Charge, u.At)
		}
	}
	return u, nil
}

func normalShare(s facts.ShareFacts) (facts.ShareFacts, error) {
	s.Path = Clean(s.Path)
	s.By = Clean(s.By)
	s.At = Exact(s.At)
	if s.Path == "" || !(s.Shares >= 0) || s.At.IsZero() {
		return s, fmt.Errorf("%q cannot have %v shares since %v", s.Path, s.Shares, s.At)
	}
	return s, nil
}

func normalAccount(a facts.AccountFacts) (facts.AccountFacts, error) {
	a.Path = Clean(a.Path)
	a.By = Clean(a.By)
	a.At = Exact(a.At)
	for _, list := range []*[]string{&a.Users, &a.Groups, &a.DefaultFor} {
		*list = append([]string{}, CleanAll(*list)...)
	}
	if a.Path == "" || a.At.IsZero() {
		return a, fmt.Errorf("%q cannot be an account since %v", a.Path, a.At)
	}
	return a, nil
}

func normalBudget(b facts.BudgetFacts) (facts.BudgetFacts, error) {
	b.Path = Clean(b.Path)
	b.By = Clean(b.By)
	b.Since = Exact(b.Since)
	b.At = Exact(b.At)
	b.Spent = append([]float64{}, b.Spent...)
	wrong := func(spent float64) bool { return !(spent >= 0) }
	if b.Path == "" || !(b.Amount > 0) || b.Period < 0 || slices.ContainsFunc(b.Spent, wrong) ||
		b.Beyond != "wait" && b.Beyond != "idle" || b.Since.IsZero() || b.At.IsZero() {
		return b, fmt.Errorf("%q cannot have the budget %+v", b.Path, b)
	}
	return b, nil
}

func normalPublication(p facts.PublicationFacts) (facts.PublicationFacts, error) {
	p.Source = Clean(p.Source)
	p.Owner = Clean(p.Owner)
	p.By = Clean(p.By)
	p.Date = Exact(p.Date)
	p.At = Exact(p.At)
	if p.Source == "" || p.Owner == "" || p.State != "reported" && p.State != "accepted" && p.State != "rejected" ||
		p.Date.IsZero() || p.At.IsZero() {
		return p, fmt.Errorf("%q cannot be the publication %+v", p.Source, p)
	}
	return p, nil
}

func normalCredit(c facts.CreditFacts) (facts.CreditFacts, error) {
	c.Owner = Clean(c.Owner)
	c.Source = Clean(c.Source)
	c.By = Clean(c.By)
	c.Date = Exact(c.Date)
	c.AddedAt = Exact(c.AddedAt)
	if c.Owner == "" || !(c.Amount > 0) || c.Date.IsZero() || c.AddedAt.IsZero() {
		return c, fmt.Errorf("%q cannot have credit %v of %v", c.Owner, c.Amount, c.Date)
	}
	return c, nil
}

// NormalOrder is the normal form of Order: what a store keeps of it.
func NormalOrder(o facts.ActionFacts) facts.ActionFacts {
	o.By = Clean(o.By)
	o.At = Exact(o.At)
	o.Begun = Exact(o.Begun)
	return o
}

// CheckMarks refuses marks that cannot be.
func CheckMarks(w facts.ChangeMarks) error {
	for _, m := range w.Add {
		known := m.Kind == facts.MarkKilled || m.Kind == facts.MarkBlocked || m.Kind == facts.MarkComplete ||
			m.Kind == facts.MarkFailed
		if m.First < 0 || m.First > m.Last || !known || m.Step < 1 || int(m.Last-m.First)%m.Step != 0 {
			return fmt.Errorf("job %d: mark %d-%dx%d of kind %q cannot be", w.Job, m.First, m.Last, m.Step, m.Kind)
		}
	}
	return nil
}
