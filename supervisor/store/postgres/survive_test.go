package postgres

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
)

// filler gives every member of a row a value of its own that is not zero.
type filler struct{ n int64 }

// chosen are the values of those types that know only some.
var chosen = map[reflect.Type]any{
	reflect.TypeFor[agenda.Order]():       agenda.Reverse,
	reflect.TypeFor[facts.Action]():       facts.Kill,
	reflect.TypeFor[facts.RunsAgain]():    facts.ByItself,
	reflect.TypeFor[facts.AttemptState](): facts.Running,
	reflect.TypeFor[facts.JobState]():     facts.Blocked,
	reflect.TypeFor[facts.Kind]():         facts.Secondary,
	reflect.TypeFor[facts.LinkOf]():       facts.OfItems,
	reflect.TypeFor[facts.MarkKind]():     facts.MarkKilled,
}

// filled returns a row of type T with a non-zero value in each member, except the members that unset names.
func filled[T any](f *filler, change func(*T)) (row T) {
	f.fill(reflect.ValueOf(&row).Elem(), "")
	if change != nil {
		change(&row)
	}
	return row
}

func (f *filler) fill(v reflect.Value, name string) {
	f.n++
	if value, is := chosen[v.Type()]; is {
		v.Set(reflect.ValueOf(value))
		return
	}
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(at(float64(f.n))))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s %d", name, f.n))
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(f.n)
	case reflect.Uint8:
		v.SetUint(uint64(f.n%255) + 1)
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), name)
	case reflect.Struct:
		for n := range v.NumField() {
			f.fill(v.Field(n), v.Type().Field(n).Name)
		}
	case reflect.Array:
		for n := range v.Len() {
			f.fill(v.Index(n), name)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		f.fill(v.Index(0), name)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, name)
		f.fill(value, name)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	default:
		panic("no value for " + name + ", a " + v.Type().String())
	}
}

// zeros are the members of the rows that none of them sets: what such a test would not miss.
func zeros(rows ...any) (unset []string) {
	set, all := map[string]bool{}, map[string]bool{}
	var look func(v reflect.Value, name string)
	look = func(v reflect.Value, name string) {
		if v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]() {
			for n := range v.NumField() {
				look(v.Field(n), strings.TrimPrefix(name+"."+v.Type().Field(n).Name, "."))
			}
			return
		}
		all[name] = true
		set[name] = set[name] || !v.IsZero()
	}
	for _, row := range rows {
		look(reflect.ValueOf(row), "")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !set[name] {
			unset = append(unset, name)
		}
	}
	return unset
}

// rowTypes are the types of rows that package facts has, by their names.
func rowTypes(t *testing.T) (names []string) {
	files, err := filepath.Glob("../../job/facts/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of package facts: %v", err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, is := n.(*ast.TypeSpec); is && strings.HasSuffix(spec.Name.Name, "Facts") && spec.Name.Name != "Facts" {
				names = append(names, spec.Name.Name)
			}
			return true
		})
	}
	slices.Sort(names)
	return names
}

// survivors are rows of which each member survives, with the writes that make them.
type survivors struct {
	jobs     []facts.JobFacts // an open job, and an ended job that it depends on
	marks    []facts.Mark
	orders   []facts.ActionFacts
	attempts []facts.AttemptFacts // a running attempt, a suspended attempt that is stopping, and an ended one
	host     facts.HostFacts
	usage    facts.UsageFacts
	share    facts.ShareFacts
	credit   facts.CreditFacts
	account  facts.AccountFacts
	budget   facts.BudgetFacts
	publish  facts.PublicationFacts
	profile  facts.ProfileFacts
	resource facts.ResourceFacts
	breakage facts.BreakageFacts
	answer   facts.AnswerFacts
	audit    facts.AuditFacts
	event    facts.EventFacts
	mail     facts.MailFacts // not yet tried
}

func newSurvivors(n int64) *survivors {
	f := &filler{n}
	s := &survivors{host: filled[facts.HostFacts](f, nil), usage: filled[facts.UsageFacts](f, nil),
		credit: filled[facts.CreditFacts](f, nil), account: filled[facts.AccountFacts](f, nil),
		publish: filled(f, func(p *facts.PublicationFacts) {
			p.State = "accepted"
		}), share: filled[facts.ShareFacts](f, nil), resource: filled[facts.ResourceFacts](f, nil),
		breakage: filled[facts.BreakageFacts](f, nil),
		budget: filled(f, func(b *facts.BudgetFacts) {
			b.Beyond = "idle"
		}), profile: filled[facts.ProfileFacts](f, nil), event: filled(f, func(e *facts.EventFacts) { e.Job = 7 }),
		answer: filled(f, func(a *facts.AnswerFacts) { a.Hash, a.Body = slices.Repeat([]byte{3}, 32), `{"done":true}` }),
		audit:  filled(f, func(a *facts.AuditFacts) { a.Outcome, a.Detail = "refused", `{"order": "kill"}` })}
	s.mail = filled(f, func(m *facts.MailFacts) { m.State, m.Tries = facts.FailedJob, 0 })
	ended := filled(f, func(j *facts.JobFacts) {
		j.ID, j.Version, j.State, j.FinishedAt, j.WaitFor = 3, 1, facts.FailedJob, j.SubmittedAt.Add(time.Hour), nil
	})
	open := filled(f, func(j *facts.JobFacts) {
		j.ID, j.Version, j.FinishedAt, j.WaitFor[0].Job, j.WaitFor[0].End = 7, 1, time.Time{}, 3, "done"
	})
	s.jobs = []facts.JobFacts{ended, open}
	s.marks = []facts.Mark{filled(f, func(m *facts.Mark) { m.First, m.Last, m.Step = 21, 27, 3 })}
	s.orders = []facts.ActionFacts{filled(f, func(o *facts.ActionFacts) {
		o.Job, o.Items, o.Affected = 7, []agenda.Span{{First: 1, Last: 9, Step: 2}}, o.Done+1
	})}
	attempt := func(item facts.ItemNo) facts.AttemptFacts {
		return filled(f, func(a *facts.AttemptFacts) {
			a.AttemptID = attemptID(7, item, 1)
			a.State, a.Again, a.Why, a.ExitCode, a.Signal, a.Wall, a.CPU, a.Peak = facts.Running, facts.Never, facts.Why{}, nil,
				nil, 0, 0, 0
			a.Charge, a.Charged, a.EndedAt, a.SuspendedAt, a.Suspended = facts.Charge{}, false, time.Time{}, time.Time{}, 0
			a.ReleasedAt, a.Released, a.ResumingAt = time.Time{}, 0, time.Time{}
		})
	}
	sent, stops, dead := attempt(1), attempt(2), attempt(4)
	full := filled[facts.AttemptFacts](f, nil)
	sent.Why = full.Why
	stops.SuspendedAt, stops.Suspended, stops.State, stops.Why = full.SuspendedAt, full.Suspended, facts.Stopping, full.Why
	stops.ReleasedAt, stops.Released, stops.ResumingAt = full.ReleasedAt, full.Released, full.ResumingAt
	dead.State, dead.Again, dead.Why, dead.ExitCode, dead.Signal, dead.Wall, dead.CPU = facts.Failed, facts.ByItself,
		full.Why, full.ExitCode, full.Signal, full.Wall, full.CPU
	dead.Peak, dead.Charge, dead.Charged, dead.EndedAt, dead.Suspended = full.Peak, full.Charge, true, full.EndedAt, 7.25
	dead.Released = 3.25
	s.attempts = []facts.AttemptFacts{sent, stops, dead}
	return s
}

func (s *survivors) writes() []facts.Write {
	sent, stops, dead := s.attempts[0], s.attempts[1], s.attempts[2]
	start := func(a facts.AttemptFacts) facts.Write {
		a.State, a.Again, a.Why, a.ExitCode, a.Signal, a.Wall, a.CPU, a.Peak = facts.Running, facts.Never, facts.Why{}, nil,
			nil, 0, 0, 0
		a.Charge, a.Charged, a.EndedAt, a.SuspendedAt, a.Suspended = facts.Charge{}, false, time.Time{}, time.Time{}, 0
		a.ReleasedAt, a.Released, a.ResumingAt = time.Time{}, 0, time.Time{}
		return facts.StartAttempt{Attempt: a}
	}
	return append(s.puts(), facts.ChangeMarks{Job: 7, Add: s.marks}, facts.PutAction{Order: s.orders[0], Fresh: true},
		start(sent), start(stops), start(dead), facts.SendAwayAttempt{ID: sent.AttemptID, Why: sent.Why},
		facts.SuspendAttempt{ID: stops.AttemptID, At: stops.SuspendedAt, Seconds: stops.Suspended, Released: stops.Released},
		facts.ReleaseAttempt{ID: stops.AttemptID, From: facts.SuspendedHolding, At: stops.ReleasedAt, Resuming: stops.ResumingAt},
		facts.StopAttempt{ID: stops.AttemptID, Why: stops.Why},
		facts.EndAttempt{ID: dead.AttemptID, From: facts.Running, State: dead.State, Again: dead.Again, Why: dead.Why,
			ExitCode: dead.ExitCode, Signal: dead.Signal,
			Wall: dead.Wall, CPU: dead.CPU, Peak: dead.Peak, Charge: dead.Charge, Charged: dead.Charged, EndedAt: dead.EndedAt,
			Suspended: dead.Suspended, Released: dead.Released},
		facts.AddCredit{Credit: s.credit}, facts.PutAnswer{Answer: s.answer}, facts.AddAudit{Audit: s.audit},
		facts.AddEvent{Event: s.event},
		facts.AddMail{Mail: s.mail})
}

// puts are the writes that make rows, or change them.
func (s *survivors) puts() []facts.Write {
	return []facts.Write{facts.PutHost{Host: s.host}, facts.PutJob{Job: s.jobs[0]}, facts.PutJob{Job: s.jobs[1]},
		facts.ChargeUsage{Usage: s.usage}, facts.PutShare{Share: s.share}, facts.PutAccount{Account: s.account},
		facts.PutBudget{Budget: s.budget},
		facts.PutPublication{Publication: s.publish}, facts.PutProfile{Profile: s.profile},
		facts.PutResource{Resource: s.resource}, facts.PutBreakage{Breakage: s.breakage}}
}

// later are the same rows with other values in all that may change.
func (s *survivors) later() *survivors {
	l := newSurvivors(7000)
	for n := range l.jobs {
		to, from := reflect.ValueOf(&l.jobs[n]).Elem(), reflect.ValueOf(s.jobs[n])
		for k := range to.NumField() {
			if strings.HasSuffix(to.Type().Field(k).Tag.Get("db"), ",fixed") {
				to.Field(k).Set(from.Field(k))
			}
		}
		l.jobs[n].Submission, l.jobs[n].Version, l.jobs[n].WaitFor = s.jobs[n].Submission, 2, s.jobs[n].WaitFor
	}
	l.marks, l.orders, l.attempts, l.credit = s.marks, s.orders, s.attempts, s.credit
	l.host.ID, l.usage.Payer, l.share.Path, l.account.Path, l.budget.Path = s.host.ID, s.usage.Payer, s.share.Path,
		s.account.Path, s.budget.Path
	l.publish.Source, l.publish.Owner, l.profile.ProfileKey, l.resource.Name, l.breakage.Sender = s.publish.Source,
		s.publish.Owner, s.profile.ProfileKey, s.resource.Name, s.breakage.Sender
	return l
}

// loaded is what a term loads of the rows.
func (s *survivors) loaded() facts.Facts {
	return facts.Facts{NextJob: 8, Ended: map[facts.JobID]facts.JobState{3: facts.FailedJob},
		Hosts: []facts.HostFacts{s.host},
		Jobs:  []facts.JobRecord{{Job: s.jobs[0]}, {Job: s.jobs[1], Marks: s.marks, Orders: s.orders, Attempts: s.attempts}},
		Usage: []facts.UsageFacts{s.usage}, Shares: []facts.ShareFacts{s.share}, Credits: []facts.CreditFacts{s.credit},
		Accounts: []facts.AccountFacts{s.account},
		Budgets:  []facts.BudgetFacts{s.budget}, Publications: []facts.PublicationFacts{s.publish},
		Profiles: []facts.ProfileFacts{s.profile}, Resources: []facts.ResourceFacts{s.resource},
		Breakages: []facts.BreakageFacts{s.breakage}}
}

// Everything that was committed comes back, member by member: a column that was forgotten in one place fails.
func TestFactsSurvive(t *testing.T) {
	s := newSurvivors(100)
	for _, rows := range [][]any{{s.jobs[0], s.jobs[1]}, {s.marks[0]}, {s.orders[0]},
		{s.attempts[0], s.attempts[1], s.attempts[2]}, {s.host}, {s.usage}, {s.share}, {s.credit}, {s.account},
		{s.budget}, {s.publish}, {s.profile}, {s.resource}, {s.breakage}, {s.answer}, {s.audit}, {s.event}} {
		if unset := zeros(rows...); unset != nil {
			t.Errorf("%T: no row sets %v", rows[0], unset)
		}
	}
	onBoth(t, func(t *testing.T, b both) {
		term := lead(t, b)
		commit(t, term, s.writes()...)
		want := s.loaded()
		if d := diff(want, load(t, term)); d != "" {
			t.Errorf("loaded (-want +got):\n%s", d)
		}
		later := s.later()
		commit(t, term, later.puts()...)
		want = later.loaded()
		if d := diff(want, load(t, term)); d != "" {
			t.Errorf("loaded after all was changed (-want +got):\n%s", d)
		}
		if d := diff(&want.Jobs[1], recordOf(t, b, 7)); d != "" {
			t.Errorf("record (-want +got):\n%s", d)
		}
		if got := recordOf(t, b, 8); got != nil {
			t.Errorf("record of no job: %+v", got)
		}
		if answer, _, err := b.Answer(ctx, s.answer.User, s.answer.Key); err != nil || diff(s.answer, answer) != "" {
			t.Errorf("answer (-want +got), %v:\n%s", err, diff(s.answer, answer))
		}
		if mails, err := b.DueMails(ctx, s.mail.Due, 2); err != nil || len(mails) != 1 {
			t.Errorf("mails, %v: %+v", err, mails)
		} else if mails[0].ID = s.mail.ID; diff(s.mail, mails[0]) != "" { // the store's own
			t.Errorf("mail (-want +got):\n%s", diff(s.mail, mails[0]))
		}
		p, is := b.Store.(*Store)
		if !is {
			return // nothing reads the others back from the double
		}
		events, _, err := p.FarmHistory(ctx, store.EventQuery{Job: 7})
		if err != nil || diff([]facts.EventFacts{s.event}, events) != "" {
			t.Errorf("events (-want +got), %v:\n%s", err, diff([]facts.EventFacts{s.event}, events))
		}
		if trail := must(p.AuditLog(ctx, store.AuditQuery{User: s.audit.Who}))(t); len(trail) != 1 ||
			diff(s.audit, trail[0].AuditFacts) != "" {
			t.Errorf("audit trail (-want +got): %d rows\n%s", len(trail), diff(s.audit, trail[0].AuditFacts))
		}
	})
	// which are made of attempts
	known := []string{"AccountFacts", "ActionFacts", "AnswerFacts", "AttemptFacts", "AuditFacts", "BreakageFacts", "BudgetFacts",
		"CreditFacts", "DoneFacts",
		// which TestPromiseIsInTheRow stores
		"EventFacts", "HostFacts", "JobFacts", "MailFacts", "ProfileFacts", "PromiseFacts",
		"PublicationFacts", "ResourceFacts",
		// which is a part of AttemptFacts
		"RunFacts", "ShareFacts", "UsageFacts"}
	if d := diff(known, rowTypes(t)); d != "" {
		t.Errorf("rows of facts that this test does not know (-known +there):\n%s", d)
	}
}
