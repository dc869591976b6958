package postgres

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/storetest"
)

// profile returns a random row, an invalid one if value is negative.
func (g *generator) profile(name string, value float64) facts.ProfileFacts {
	row := facts.ProfileFacts{ProfileKey: facts.ProfileKey{Owner: "ann", Name: name}, Seconds: value,
		By: rapid.SampledFrom([]string{"", "é\\", "boss"}).Draw(g.r, "by"), At: at(g.when())}
	for n := range rapid.IntRange(0, 9).Draw(g.r, "lessons") { // eight are allowed
		row.Lessons = append(row.Lessons, facts.Lesson{Job: facts.JobID(n + 1), EndedAt: at(g.when()), Items: n,
			Memory: 1 << 40, Seconds: 1.0 / 3})
	}
	return row
}

// What a term wrote of profiles the next one loads, exactly, in both stores; of several writes in a commit the last
// counts.
func TestProfilesOutliveATerm(t *testing.T) {
	for name, s := range map[string]store.Store{"memory": storetest.NewMemory(), "postgres": emptyPostgres(t)} {
		term := lead(t, s)
		key := func(name string) facts.ProfileKey { return facts.ProfileKey{Owner: "ann", Name: name} }
		row := facts.ProfileFacts{ProfileKey: key("blender:a \\ \"é\""), Memory: 1<<50 + 1, MemoryAfter: 7, Seconds: math.Pi,
			SecondsAfter: 1 << 40, By: "boss", At: at(7).Add(123456789 * time.Nanosecond),
			Lessons: []facts.Lesson{{Job: 1 << 40, EndedAt: at(6).Add(1789 * time.Nanosecond), Items: 3, Memory: 1<<53 + 1,
				Seconds: 1.0 / 3}, {Job: 2, EndedAt: at(5), Items: 1}}}
		bare := facts.ProfileFacts{ProfileKey: key("bare"), At: at(1)}
		gone := facts.ProfileFacts{ProfileKey: key("gone"), At: at(1)}
		commit(t, term, facts.PutProfile{Profile: gone},
			facts.PutProfile{Profile: facts.ProfileFacts{ProfileKey: row.ProfileKey, At: at(1)}},
			facts.PutProfile{Profile: bare})
		commit(t, term, facts.DropProfile{Profile: row.ProfileKey}, facts.PutProfile{Profile: row},
			facts.PutProfile{Profile: gone}, facts.DropProfile{Profile: gone.ProfileKey},
			facts.DropProfile{Profile: key("never there")})
		term.Close(ctx)
		rows := load(t, lead(t, s)).Profiles
		row.At, row.Lessons[0].EndedAt = row.At.Truncate(time.Microsecond), row.Lessons[0].EndedAt.Truncate(time.Microsecond)
		bare.Lessons = []facts.Lesson{}
		if d := diff([]facts.ProfileFacts{bare, row}, rows); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// What a term wrote of resources the next one loads, exactly, in both stores; of several writes in a commit the last
// counts.
func TestResourcesOutliveATerm(t *testing.T) {
	for name, s := range map[string]store.Store{"memory": storetest.NewMemory(), "postgres": emptyPostgres(t)} {
		term := lead(t, s)
		row := facts.ResourceFacts{Name: "license.\"é\\\"", Total: 1<<53 + 1, Outside: 1 << 40, By: "boss",
			ReportedAt: at(7).Add(123456789 * time.Nanosecond), Lowered: 0, LoweredUntil: at(8), Wait: math.Pi, Probed: true}
		bare := facts.ResourceFacts{Name: "global.a", Total: -1, Lowered: -1}
		commit(t, term, facts.PutResource{Resource: row},
			facts.PutResource{Resource: facts.ResourceFacts{Name: bare.Name, Total: 5, Outside: 3, ReportedAt: at(1),
				Lowered: -1}})
		commit(t, term, facts.PutResource{Resource: facts.ResourceFacts{Name: bare.Name, Lowered: -1}},
			facts.PutResource{Resource: bare})
		if err := term.Commit(ctx,
			[]facts.Write{facts.PutResource{Resource: facts.ResourceFacts{Name: "license.x", Outside: -1}}}); err == nil {
			t.Errorf("%s: a use below zero is stored", name)
		}
		term.Close(ctx)
		rows := load(t, lead(t, s)).Resources
		row.ReportedAt = row.ReportedAt.Truncate(time.Microsecond)
		if d := diff([]facts.ResourceFacts{bare, row}, rows); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// What a term noted of those whose events broke the farm's state the next one loads, exactly, in both stores; what is
// old goes.
func TestBreakagesOutliveATerm(t *testing.T) {
	for name, s := range map[string]store.Store{"memory": storetest.NewMemory(), "postgres": emptyPostgres(t)} {
		term := lead(t, s)
		report := facts.BreakageFacts{Sender: facts.Sender{Kind: "WorkerSynced", Host: "rn\"é"}, Times: 2,
			At: at(7).Add(123456789 * time.Nanosecond), Cause: "index out of range"}
		order := facts.BreakageFacts{Sender: facts.Sender{Kind: "JobAction kill", Job: 1 << 40, Owner: "u1"},
			Times: 1, At: at(8)}
		commit(t, term, facts.PutBreakage{Breakage: report}, facts.PutBreakage{Breakage: order})
		report.Times++
		commit(t, term, facts.PutBreakage{Breakage: report})
		if err := term.Commit(ctx,
			[]facts.Write{facts.PutBreakage{Breakage: facts.BreakageFacts{Sender: report.Sender, At: at(1)}}}); err == nil {
			t.Errorf("%s: a breakage of no time is stored", name)
		}
		term.Close(ctx)
		term = lead(t, s)
		report.At = report.At.Truncate(time.Microsecond)
		if d := diff([]facts.BreakageFacts{order, report}, load(t, term).Breakages); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		late := facts.BreakageFacts{Sender: facts.Sender{Kind: "plan", Job: 7}, Times: 1,
			At: report.At.Add(facts.BreakageKept + time.Hour)}
		commit(t, term, facts.PutBreakage{Breakage: late})
		term.Close(ctx)
		if d := diff([]facts.BreakageFacts{late}, load(t, lead(t, s)).Breakages); d != "" {
			t.Errorf("%s: old ones stay: %s", name, d)
		}
	}
}
