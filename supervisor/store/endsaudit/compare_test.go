package endsaudit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
)

var endsBegan = time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)

// endsOf is a worker that was booted so many seconds after the others' epoch, and whose clock was compared once a
// minute with an error of 10 ms.
func endsOf(host string, booted float64, records ...api.EndRecord) *workerEnds {
	w := &workerEnds{host: host, stateID: host + "-state"}
	page := api.EndsPage{Host: host, StateID: w.stateID, Since: endsBegan, Last: true, Records: records}
	for n := range 60 {
		at := float64(60 * n)
		page.Clocks = append(page.Clocks,
			api.ClockCheck{Boot: host, At: at, Time: endsBegan.Add(time.Duration((booted + at) * float64(time.Second))),
				Error: 0.01})
	}
	for n := range page.Records {
		page.Records[n].Boot = host
	}
	w.add(&page)
	return w
}

func ran(item, number int, from, to float64, outcome string) api.EndRecord {
	r := api.EndRecord{Attempt: api.AttemptID{Job: 1, Item: item, Number: number}, Started: from, Ended: to,
		Outcome: outcome}
	if code := 0; outcome == "exit" {
		r.ExitCode = &code
	}
	return r
}

func rowOf(item, number int, host string, state facts.AttemptState, ended float64) EndRow {
	r := EndRow{ID: facts.AttemptID{Job: 1, Item: facts.ItemNo(item), Number: number}, Host: host,
		StateID: host + "-state", State: state}
	if at := endsBegan.Add(time.Duration(ended * float64(time.Second))); !state.Live() {
		r.EndedAt = &at
	}
	return r
}

func TestWorkersRecordsAreCompared(t *testing.T) {
	frozen := ran(0, 1, 10, 200, "stopped")
	frozen.Frozen = 40
	done := func(n int, host string) EndRow { return rowOf(0, n, host, facts.Done, 100) }
	cases := []struct {
		name    string
		workers []*workerEnds
		rows    []EndRow
		want    string // the kinds of what is found
	}{
		{"all is well", []*workerEnds{endsOf("a", 0, ran(0, 1, 10, 20, "stopped")),
			endsOf("b", 500, ran(0, 2, 30, 60, "exit"))},
			[]EndRow{rowOf(0, 1, "a", facts.Lost, 500), rowOf(0, 2, "b", facts.Done, 560)}, ""},
		{"two at once on hosts of two clocks",
			[]*workerEnds{endsOf("a", 0, ran(0, 1, 10, 60, "exit")), endsOf("b", 20, ran(0, 2, 16, 50, "exit"))},
			[]EndRow{rowOf(0, 1, "a", facts.Lost, 40), rowOf(0, 2, "b", facts.Done, 70)}, "overlap"},
		{"within what the clocks may be apart",
			[]*workerEnds{endsOf("a", 0, ran(0, 1, 10, 60, "stopped")), endsOf("b", 20, ran(0, 2, 39.98, 50, "exit"))},
			[]EndRow{rowOf(0, 1, "a", facts.Lost, 40), rowOf(0, 2, "b", facts.Done, 70)}, ""},
		{"a frozen one computes no more", []*workerEnds{endsOf("a", 0, frozen), endsOf("b", 0, ran(0, 2, 50, 90, "exit"))},
			[]EndRow{rowOf(0, 1, "a", facts.Lost, 45), rowOf(0, 2, "b", facts.Done, 90)}, ""},
		{"of a lost one the end is not known",
			[]*workerEnds{endsOf("a", 0, ran(0, 1, 10, 900, "lost")), endsOf("b", 0, ran(0, 2, 50, 90, "exit"))},
			[]EndRow{rowOf(0, 1, "a", facts.Lost, 45), rowOf(0, 2, "b", facts.Done, 90)}, ""},
		{"one attempt twice", []*workerEnds{endsOf("a", 0, ran(0, 1, 10, 20, "exit"), ran(0, 1, 30, 40, "exit"))},
			[]EndRow{done(1, "a")}, "doubled"},
		{"one record that was moved twice",
			[]*workerEnds{endsOf("a", 0, ran(0, 1, 10, 20, "exit"), ran(0, 1, 10, 20, "exit"))}, []EndRow{done(1, "a")}, ""},
		{"an end that was never counted", []*workerEnds{endsOf("a", 0, ran(0, 1, 10, 20, "exit"))},
			[]EndRow{rowOf(0, 1, "a", facts.Running, 0)}, "lost-end"},
		{"an end on its way", []*workerEnds{endsOf("a", 0, ran(0, 1, 10, 2990, "exit"))},
			[]EndRow{rowOf(0, 1, "a", facts.Running, 0)}, ""},
		{"work lost", []*workerEnds{endsOf("a", 0, ran(0, 1, 10, 20, "exit"))},
			[]EndRow{rowOf(0, 1, "a", facts.Preempted, 20)}, "told-otherwise"},
		{"done by a signal", []*workerEnds{endsOf("a", 0, ran(0, 1, 10, 20, "signal"))}, []EndRow{done(1, "a")},
			"told-otherwise"},
		{"ran elsewhere", []*workerEnds{endsOf("a", 0, ran(0, 1, 10, 20, "exit"))}, []EndRow{done(1, "b")}, "told-otherwise"},
		{"done without a run", []*workerEnds{endsOf("a", 0)}, []EndRow{done(1, "a")}, "no-record"},
		{"done on a host that did not answer", []*workerEnds{endsOf("a", 0)}, []EndRow{done(1, "b")}, ""},
		{"ran without a row", []*workerEnds{endsOf("a", 0, ran(0, 1, 10, 20, "exit"), ran(0, 2, 30, 40, "exit"))},
			[]EndRow{done(1, "a")}, "no-row"},
		{"a job whose rows are sums", []*workerEnds{endsOf("a", 0, ran(0, 1, 10, 20, "exit"))}, nil, ""},
	}
	for _, c := range cases {
		a := newComparison(endsBegan.Add(3000*time.Second), c.workers)
		a.compareRuns()
		for _, r := range c.rows {
			a.row(r)
		}
		if len(a.unseen(10)) > 0 {
			a.compareUnseen(c.rows)
		}
		var kinds []string
		for _, p := range a.problems {
			kinds = append(kinds, p.Kind)
		}
		if strings.Join(kinds, " ") != c.want {
			t.Errorf("%s: found %q, want %q", c.name, fmt.Sprint(a.problems), c.want)
		}
	}
}
