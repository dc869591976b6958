package profiles

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
)

var begin = time.Unix(1_000_000, 0).UTC()

// stored keeps the rows that a farm would have.
type stored map[facts.ProfileKey]facts.ProfileFacts

func (s stored) take(p *Profiles) {
	p.Changed(func(w facts.Write) {
		switch w := w.(type) {
		case facts.PutProfile:
			s[w.Profile.ProfileKey] = w.Profile
		case facts.DropProfile:
			delete(s, w.Profile)
		}
	})
}

func (s stored) rows() (list []facts.ProfileFacts) {
	for _, row := range s {
		list = append(list, row)
	}
	return list
}

// simpleJob is what a simple account of profiles knows of a job.
type simpleJob struct {
	facts.Lesson
	key   facts.ProfileKey
	ended bool
}

// simple is the same in the simplest words: all jobs, and when which figure was set.
type simple struct {
	jobs    []*simpleJob
	memory  map[facts.ProfileKey]int64
	seconds map[facts.ProfileKey]float64
	after   map[facts.ProfileKey][2]facts.JobID // of memory, of seconds
}

// estimate is the largest of the lessons that count: of unfinished jobs, and of the last eight that ended, for 90 days.
func (s *simple) estimate(now time.Time, key facts.ProfileKey) (e facts.Estimate) {
	var lessons, ended []facts.Lesson
	for _, j := range s.jobs {
		switch {
		case j.key != key || j.Memory == 0 && j.Seconds == 0:
		case j.ended:
			ended = append(ended, j.Lesson)
		default:
			lessons = append(lessons, j.Lesson)
		}
	}
	slices.SortFunc(ended, func(a, b facts.Lesson) int { return b.EndedAt.Compare(a.EndedAt) })
	for _, l := range ended[:min(len(ended), MaxLessons)] {
		if now.Sub(l.EndedAt) < Fresh {
			lessons = append(lessons, l)
		}
	}
	e.Memory, e.Seconds = s.memory[key], s.seconds[key]
	for _, l := range lessons {
		forMemory, forTime := l.Job > s.after[key][0] && l.Memory > 0, l.Job > s.after[key][1] && l.Seconds > 0
		if forMemory {
			e.Memory = max(e.Memory, l.Memory)
		}
		if forTime {
			e.Seconds = max(e.Seconds, l.Seconds)
		}
		if forMemory || forTime {
			e.Jobs++
			e.Items += l.Items
		}
	}
	return e
}

// world is a random one: profiles, their rows, and the simple account of both.
type world struct {
	p    *Profiles
	rows stored
	s    simple
	now  time.Time
}

var worldKeys = []facts.ProfileKey{{Owner: "ann", Name: "a"}, {Owner: "ann", Name: "b"}, {Owner: "ben", Name: "a"}}

// job is any that has not ended, nil if there is none.
func (w *world) job(rt *rapid.T) *simpleJob {
	open := slices.DeleteFunc(slices.Clone(w.s.jobs), func(j *simpleJob) bool { return j.ended })
	if len(open) == 0 {
		return nil
	}
	return rapid.SampledFrom(open).Draw(rt, "job")
}

// change has a person change a profile, of which something must be known.
func (w *world) change(rt *rapid.T, c Change) {
	c.Key = rapid.SampledFrom(worldKeys).Draw(rt, "changed")
	last, s := facts.JobID(len(w.s.jobs)), &w.s
	_, _, refused := w.p.Make(w.now, c, "boss", last)
	if known := s.estimate(w.now, c.Key).Known(); (refused == nil) != known {
		rt.Fatalf("%+v, known %v: %v", c, known, refused)
	}
	if refused != nil {
		return
	}
	after := s.after[c.Key]
	if c.Forget {
		after, s.memory[c.Key], s.seconds[c.Key] = [2]facts.JobID{last, last}, 0, 0
		for _, j := range s.jobs { // what ended before is not in the row any more
			if j.key == c.Key && j.ended {
				j.Memory, j.Seconds = 0, 0
			}
		}
	}
	if c.Memory != nil {
		after[0], s.memory[c.Key] = last, *c.Memory
	}
	if c.Seconds != nil {
		after[1], s.seconds[c.Key] = last, *c.Seconds
	}
	s.after[c.Key] = after
}

// teach has a job teach something. Memory may fall, as where an item that ran out of it is complete with less; a job
// never unlearns that it knows something.
func (w *world) teach(rt *rapid.T) {
	if j := w.job(rt); j != nil {
		j.Items += rapid.IntRange(0, 2).Draw(rt, "items")
		j.Memory, j.Seconds = rapid.Int64Range(0, 5).Draw(rt, "memory"), max(j.Seconds, float64(rapid.IntRange(0, 5).Draw(rt, "seconds")))
		if j.Seconds == 0 {
			j.Memory = max(j.Memory, 1)
		}
		w.p.Teach(j.key, j.Lesson)
	}
}

func (w *world) end(rt *rapid.T) {
	if j := w.job(rt); j != nil {
		w.now = w.now.Add(time.Second)
		j.ended, j.EndedAt = true, w.now
		w.p.Learn(j.key, j.Lesson)
	}
}

// takeOver begins another term: unfinished jobs teach again what is known of their items.
func (w *world) takeOver(*rapid.T) {
	w.rows.take(w.p)
	w.p = New(w.rows.rows())
	for _, j := range w.s.jobs {
		if !j.ended {
			w.p.Teach(j.key, j.Lesson)
		}
	}
}

func (w *world) check(rt *rapid.T) {
	known := 0
	for _, key := range worldKeys {
		got, want := w.p.Estimate(w.now, key), w.s.estimate(w.now, key)
		if got.Memory != want.Memory || got.Seconds != want.Seconds || got.Items != want.Items || got.Jobs != want.Jobs || got.Latest.After(w.now) || got.Known() && got.Latest.IsZero() {
			rt.Fatalf("%v: %+v, not %+v", key, got, want)
		}
		if got.Known() {
			known++
		}
	}
	if list := w.p.List(w.now, facts.ProfileKey{}); len(list) != known {
		rt.Fatalf("%d are listed, %d known: %+v", len(list), known, list)
	}
}

// Whatever jobs teach, in whatever order, and whatever people set: the estimates are those of the simple account,
// before and after a change of supervisor.
func TestEstimates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{p: New(nil), rows: stored{}, now: begin}
		w.s = simple{memory: map[facts.ProfileKey]int64{}, seconds: map[facts.ProfileKey]float64{}, after: map[facts.ProfileKey][2]facts.JobID{}}
		rt.Repeat(map[string]func(*rapid.T){
			"submit": func(rt *rapid.T) {
				job := facts.JobID(len(w.s.jobs) + 1)
				w.s.jobs = append(w.s.jobs, &simpleJob{Lesson: facts.Lesson{Job: job}, key: rapid.SampledFrom(worldKeys).Draw(rt, "key")})
			},
			"teach": w.teach, "end": w.end, "take over": w.takeOver,
			"set memory":  func(rt *rapid.T) { w.change(rt, Change{Memory: new(rapid.Int64Range(1, 9).Draw(rt, "bytes"))}) },
			"set seconds": func(rt *rapid.T) { w.change(rt, Change{Seconds: new(float64(rapid.IntRange(1, 9).Draw(rt, "s")))}) },
			"forget":      func(rt *rapid.T) { w.change(rt, Change{Forget: true}) },
			"age": func(rt *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 60).Draw(rt, "days")) * 24 * time.Hour)
			},
			"": w.check,
		})
	})
}

// A job that is run again replaces its lesson, and of a job that has taught nothing there is no row.
func TestALessonAJob(t *testing.T) {
	p, rows, key := New(nil), stored{}, facts.ProfileKey{Owner: "ann", Name: "a"}
	p.Learn(key, facts.Lesson{Job: 1, EndedAt: begin, Items: 0})
	if rows.take(p); len(rows) != 0 || len(p.owners) != 0 {
		t.Errorf("nothing is known, and there is %+v", rows)
	}
	p.Learn(key, facts.Lesson{Job: 1, EndedAt: begin, Items: 2, Memory: 9})
	p.Teach(key, facts.Lesson{Job: 1, Items: 3, Memory: 5})
	if e := p.Estimate(begin, key); e.Memory != 5 || e.Items != 3 || e.Jobs != 1 {
		t.Errorf("while it runs again: %+v", e)
	}
	p.Learn(key, facts.Lesson{Job: 1, EndedAt: begin.Add(time.Hour), Items: 4, Memory: 5})
	if rows.take(p); len(rows[key].Lessons) != 1 || rows[key].Lessons[0].Items != 4 {
		t.Errorf("%+v", rows)
	}
}

// There are MaxRows at most. A user who makes many loses those used longest ago of the own ones, and no one else does.
func TestRowsAreBounded(t *testing.T) {
	p, rows, at := New(nil), stored{}, begin
	settle := func(owner string, n int) {
		at = at.Add(time.Second)
		p.Learn(facts.ProfileKey{Owner: owner, Name: fmt.Sprint(n)}, facts.Lesson{Job: facts.JobID(n + 1), EndedAt: at, Items: 1, Memory: 1})
		rows.take(p)
	}
	for n := range 100 {
		settle("ann", n)
	}
	for n := range MaxRows {
		settle("mallory", n)
	}
	if len(rows) != MaxRows || p.rows != MaxRows || len(p.owners["ann"]) != 100 {
		t.Fatalf("%d rows, counted %d, %d of ann", len(rows), p.rows, len(p.owners["ann"]))
	}
	for n := range MaxRows {
		if _, kept := rows[facts.ProfileKey{Owner: "mallory", Name: fmt.Sprint(n)}]; kept != (n >= 100) {
			t.Fatalf("profile %d is kept: %v", n, kept)
		}
	}
	settle("mallory", 150) // is used again
	settle("mallory", MaxRows)
	settle("mallory", MaxRows+1)
	for n, kept := range map[int]bool{100: false, 101: false, 102: true, 150: true} {
		if _, is := rows[facts.ProfileKey{Owner: "mallory", Name: fmt.Sprint(n)}]; is != kept {
			t.Errorf("profile %d is kept: %v", n, is)
		}
	}
	if after := New(rows.rows()); after.rows != MaxRows || after.oldest().row.Name != p.oldest().row.Name {
		t.Errorf("a new term has %d rows and would drop another", after.rows)
	}
}
