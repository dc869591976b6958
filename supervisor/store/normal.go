package store

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"qb/agenda"
	"qb/supervisor/facts"
)

// What follows makes facts such that Postgres keeps them exactly; both stores apply it to all that comes in.

// clean replaces what Postgres cannot keep in text.
func clean[S ~string](s S) S {
	if !strings.ContainsRune(string(s), 0) && utf8.ValidString(string(s)) {
		return s
	}
	return S(strings.ReplaceAll(strings.ToValidUTF8(string(s), "\uFFFD"), "\x00", "\uFFFD"))
}

// cleanAll returns nil for an empty list, as reading it back does.
func cleanAll(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	for i := range list {
		list[i] = clean(list[i])
	}
	return list
}

func cleanMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[clean(k)] = clean(v)
	}
	return out
}

// cleanNames returns a copy, nil for an empty map.
func cleanNames[V int | int64](m map[string]V) map[string]V {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]V, len(m))
	for name, amount := range m {
		out[clean(name)] = amount
	}
	return out
}

// exact cuts a time to what a timestamptz holds; zero stays zero.
func exact(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

func notBefore(t, least time.Time) time.Time {
	if t.Before(least) {
		return least
	}
	return t
}

func normalJob(j facts.JobFacts) facts.JobFacts {
	normaliseJob(&j)
	return j
}

func normaliseJob(j *facts.JobFacts) {
	for _, s := range []*string{&j.Submission, &j.User, &j.BlockedBy} {
		*s = clean(*s)
	}
	for i := range facts.Attributes {
		switch v := facts.Attributes[i].Value(j).(type) {
		case *string:
			*v = clean(*v)
		case *agenda.Order:
			*v = clean(*v)
		case *[]string:
			*v = cleanAll(*v)
		case *map[string]string:
			*v = cleanMap(*v)
		}
	}
	if len(j.WaitFor) == 0 {
		j.WaitFor = nil
	}
	j.WaitFor = slices.Clone(j.WaitFor)
	j.SubmittedAt, j.FinishedAt = exact(j.SubmittedAt), exact(j.FinishedAt)
	if !j.FinishedAt.IsZero() {
		j.FinishedAt = notBefore(j.FinishedAt, j.SubmittedAt)
	}
}

func normalHost(h facts.HostFacts) facts.HostFacts {
	h.ID = clean(h.ID)
	for _, s := range []*string{&h.MachineID, &h.Boot, &h.StateID, &h.Cluster, &h.LockedBy, &h.LockReason} {
		*s = clean(*s)
	}
	h.Groups, h.Properties = cleanAll(h.Groups), cleanMap(h.Properties)
	h.Resources = cleanNames(h.Resources)
	h.SeenAt = exact(h.SeenAt)
	return h
}

func normalAttempt(a facts.AttemptFacts) facts.AttemptFacts {
	a.Host, a.Boot, a.StateID, a.Owner, a.Why = clean(a.Host), clean(a.Boot), clean(a.StateID), clean(a.Owner), normalWhy(a.Why)
	a.StartedAt, a.EndedAt = exact(a.StartedAt), exact(a.EndedAt)
	a.Holds = cleanNames(a.Holds)
	if len(a.Devices) == 0 {
		a.Devices = nil
	}
	return a
}

func normalEvent(e facts.EventFacts) facts.EventFacts {
	e.At, e.Type, e.Host, e.By, e.Why = exact(e.At), clean(e.Type), clean(e.Host), clean(e.By), normalWhy(e.Why)
	return e
}

func normalWhy(w facts.Why) facts.Why {
	p := &w.Params
	w.Reason, w.Cause, p.Host = clean(w.Reason), clean(w.Cause), clean(p.Host)
	for _, s := range []*string{&p.By, &p.User, &p.Share, &p.Outcome, &p.Resource, &p.Option} {
		*s = clean(*s)
	}
	return w
}

func normalMarks(marks []facts.Mark) []facts.Mark {
	marks = slices.Clone(marks)
	for i := range marks {
		marks[i].By, marks[i].At = clean(marks[i].By), exact(marks[i].At)
	}
	return marks
}
