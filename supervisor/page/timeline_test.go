package page

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

var start = time.Unix(1_800_000_000, 0) // at the edge of a step of 2 minutes

func job(id facts.JobID, user string, primary, secondary int) *facts.JobView {
	return &facts.JobView{JobFacts: facts.JobFacts{ID: id, Name: fmt.Sprint("j", id), User: user, Account: "a" + user},
		Primary: primary, Secondary: secondary}
}

func ask(t *testing.T, line *Timeline, q TimelineQuery, now time.Time) string {
	t.Helper()
	if fault := q.Complete(now); fault != "" {
		return fault
	}
	r := line.Of(q)
	text := fmt.Sprintf("%ds %v", r.Step, r.Samples)
	for _, s := range r.Series {
		text += fmt.Sprintf(" | %s%s %v + %v", s.Key, strings.Repeat("…", s.Others), s.Primary, s.Secondary)
	}
	for _, m := range r.Marks {
		text += fmt.Sprintf(" ! %d %s %s %d", m.Point, m.Key, m.Kind, m.Count)
	}
	return text
}

// TestTimeline: means by job and by user, gaps where no sample was taken, and marks.
func TestTimeline(t *testing.T) {
	l := NewTimeline()
	for n := range 6 {
		if n == 3 {
			continue // no supervisor led
		}
		v := &message.View{Jobs: []*facts.JobView{job(1, "ann", n, 2), job(2, "bob", 1, 0), job(3, "ann", 0, 0)}}
		l.Take(v, start.Add(time.Duration(n)*Every+time.Second))
		l.Take(&message.View{}, start.Add(time.Duration(n)*Every+2*time.Second)) // the same step
	}
	at := start.Add(25 * time.Second)
	l.Note([]facts.Write{facts.EndAttempt{ID: facts.AttemptID{Job: 1}, State: facts.Preempted, EndedAt: at},
		facts.EndAttempt{ID: facts.AttemptID{Job: 1}, State: facts.Preempted, EndedAt: at},
		facts.EndAttempt{ID: facts.AttemptID{Job: 1}, State: facts.Done, EndedAt: at},
		facts.AddEvent{Event: facts.EventFacts{At: at, Type: "promoted", Job: 2}}})
	now := start.Add(59 * time.Second)
	for _, c := range []struct {
		q    TimelineQuery
		want string
	}{
		{TimelineQuery{From: start, Step: Every, By: "job"},
			"10s [1 1 1 0 1 1] | 1 [0 1 2 0 4 5] + [2 2 2 0 2 2] | 2 [1 1 1 0 1 1] + [0 0 0 0 0 0] ! 2 1 stopped 2 ! 2 2 promoted 1"},
		{TimelineQuery{From: start, Step: 3 * Every, By: "user"},
			"30s [3 2] | ann [1 4.5] + [2 2] | bob [1 1] + [0 0] ! 0 ann stopped 2 ! 0 bob promoted 1"},
		{TimelineQuery{From: start.Add(40 * time.Second), Step: time.Second, By: "account"},
			"10s [1 1] | aann [4 5] + [2 2] | abob [1 1] + [0 0]"},
		{TimelineQuery{From: start.Add(-time.Hour), Step: time.Second, By: "job"},
			"step: more than 1,000 points; give a longer one"},
		{TimelineQuery{From: now.Add(time.Hour)}, "from: the time is not before to"},
		{TimelineQuery{From: start.Add(-9 * 24 * time.Hour)}, "from: more than eight days before to; a week is remembered"},
	} {
		if got := ask(t, l, c.q, now); got != c.want {
			t.Errorf("%+v:\n%s, want\n%s", c.q, got, c.want)
		}
	}
}

// TestTimelineBounds: a week of a thousand busy jobs stays within its bounds, fine for what they allow and coarse
// before.
func TestTimelineBounds(t *testing.T) {
	l, random := NewTimeline(), rand.New(rand.NewPCG(1, 2))
	v := &message.View{Jobs: make([]*facts.JobView, 1000)}
	for n := range v.Jobs {
		v.Jobs[n] = &facts.JobView{}
	}
	at := start
	for range ticks(week) + 100 {
		if at = at.Add(Every); tickOf(at)%6 == 0 { // others come
			n := random.IntN(1000)
			v.Jobs[n] = job(facts.JobID(1+random.IntN(1_000_000)), "u", 1, random.IntN(9))
		}
		for n := range 20 {
			v.Jobs[(int(tickOf(at))+n)%1000].Secondary = 3
		}
		l.Take(v, at)
	}
	held := 0
	for _, line := range []*line{&l.fine, &l.coarse} {
		count := 0
		for _, s := range line.samples {
			count += len(s.entries)
		}
		if count != line.entries || count > line.most {
			t.Errorf("%d entries, %d counted, of %d", count, line.entries, line.most)
		}
		held += count
	}
	if len(l.owners) > 40_000 {
		t.Errorf("%d jobs are remembered", len(l.owners))
	}
	q := TimelineQuery{From: at.Add(-time.Hour), By: "job"}
	if fault := q.Complete(at); fault != "" || q.Step != Every+2*time.Second && q.Step != 2*Every {
		t.Error(fault, q.Step)
	}
	r := l.Of(q)
	if len(r.Series) != Series+1 || r.Series[Series].Key != "" || r.Series[Series].Others != r.Entries-Series {
		t.Errorf("%d series of %d", len(r.Series), r.Entries)
	}
	q = TimelineQuery{From: at.Add(-6 * 24 * time.Hour), By: "user"}
	if fault := q.Complete(at); fault != "" || q.Step%Coarse != 0 {
		t.Error(fault, q.Step)
	}
	known := 0
	for _, n := range l.Of(q).Samples {
		if n > 0 {
			known++
		}
	}
	t.Logf("%d entries, %d fine samples, %d coarse; of six days %d points of %d are known", held, len(l.fine.samples),
		len(l.coarse.samples), known, len(l.Of(q).Samples))
	if known == 0 {
		t.Error("nothing is known of six days")
	}
}

// TestMarksAreBounded: the oldest go.
func TestMarksAreBounded(t *testing.T) {
	l := NewTimeline()
	for n := range 3 * mostMarks {
		l.mark(start.Add(time.Duration(n)*Every), 1, Stopped)
	}
	if len(l.marks) > mostMarks || l.marks[len(l.marks)-1].tick != tickOf(start)+3*mostMarks-1 {
		t.Errorf("%d marks", len(l.marks))
	}
}
