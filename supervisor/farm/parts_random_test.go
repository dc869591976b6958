package farm_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"qb/agenda"
	"qb/supervisor/job/facts"
	divide "qb/supervisor/wire/parts"
)

// TestPartsAreOne: a job that waits for a submission that became two jobs starts the same items, at the same moments,
// as a child that waits for the same submission as a single job. Of both farms the same is asked: the single job is the
// oracle.
func TestPartsAreOne(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		entries := rapid.IntRange(2, 7).Draw(rt, "entries")
		row := facts.JobFacts{Name: "parent", User: "u1", Command: []string{"true"}, CPUs: entries, Label: "beauty", PGrp: 1}
		row.Agenda = agenda.Spec{Range: fmt.Sprintf("1-%d", entries), Chunk: rapid.IntRange(0, 2).Draw(rt, "chunk")}
		whole := &divided{rig: newRig(t), single: true}
		both := []*divided{whole, {rig: newRig(t)}}
		a, err := agenda.Parse(row.Agenda, 0)
		if err != nil {
			rt.Fatal(err)
		}
		var names, first []string
		for n := range a.Len() {
			if names = append(names, a.Item(n).Name); rapid.Bool().Draw(rt, "is seen first") {
				first = append(first, a.Item(n).Name)
			}
		}
		row.PAgenda = strings.Join(first, ",")
		link := drawLink(rt, names)
		child := fmt.Sprintf("submit child pgrp=1 cpus=20 max=0 after=%s", link)
		if rapid.Bool().Draw(rt, "child has a range") {
			from := rapid.IntRange(1, entries+2).Draw(rt, "from")
			child += fmt.Sprintf(" items=%d-%d chunk=%d", from, rapid.IntRange(from, entries+3).Draw(rt, "to"), rapid.IntRange(0, 2).Draw(rt, "child's chunk"))
		} else {
			child += fmt.Sprintf(" runs=%d", rapid.IntRange(1, 3).Draw(rt, "runs"))
		}
		for _, d := range both {
			d.rig.t = t
			d.rig.say("host h slots=60")
			d.rig.say("submit anchor blocked")
		}
		at := rapid.IntRange(0, 2*entries).Draw(rt, "child comes at")
		if !strings.Contains(link, "beauty") {
			at = max(at, 1) // by its number only a job that is there can be named
		}
		for n := range 3 * entries {
			for _, d := range both {
				if n == at {
					d.child = d.add(strings.ReplaceAll(child, "PARENT", fmt.Sprint(d.last())))
				}
				if n == 0 && at > 0 || n == 1 && at == 0 {
					d.submit(rt, row)
				}
			}
			step := rapid.SampledFrom([]string{"done", "done", "done", "fail", "kill", "retry", "crash", "forget"}).Draw(rt, "step")
			name := rapid.SampledFrom(names).Draw(rt, "item")
			for _, d := range both {
				d.do(step, name, strings.Contains(link, "complete"))
			}
			if is, want := both[1].started(), whole.started(); !slices.Equal(is, want) {
				rt.Fatalf("%s, range %s chunk %d, %q first, after %s of %s: %q started, of a single job %q\n%s\n\n%s", child, row.Agenda.Range, row.Agenda.Chunk, row.PAgenda, step, name, is, want,
					both[1].rig.say("jobs"), strings.Join(both[1].rig.said, "\n"))
			} else if len(is) > 0 {
				seen[strings.Join(strings.SplitN(link, "-", 4)[1:3], "-")]++
			}
		}
	})
	if !testing.Short() && len(seen) < 6 {
		t.Errorf("children started items after links of these kinds alone: %v", seen)
	}
}

// drawLink is a link on the parent; PARENT means its number.
func drawLink(rt *rapid.T, names []string) string {
	link := "link-" + rapid.SampledFrom([]string{"complete", "done", "failed", "killed"}).Draw(rt, "end") + "-"
	of := rapid.SampledFrom([]string{"job", "work", "work:", "subjob"}).Draw(rt, "of")
	link += strings.Trim(of, ":") + "-" + rapid.SampledFrom([]string{"PARENT", "beauty"}).Draw(rt, "named")
	if of == "work:" { // one link has one list of items, which is written as a range
		from := rapid.IntRange(0, len(names)-1).Draw(rt, "first item")
		to := rapid.IntRange(from, len(names)-1).Draw(rt, "last item")
		low, _, _ := strings.Cut(names[from], "-")
		_, high, chunk := strings.Cut(names[to], "-")
		if !chunk {
			high = names[to]
		}
		link += ":" + low + "-" + high
	}
	return link
}

// divided is a farm with a parent, which is one job or several, and a child.
type divided struct {
	rig    *rig
	single bool
	parts  []facts.JobID
	child  facts.JobID
}

func (d *divided) add(line string) facts.JobID {
	d.rig.say(line)
	return facts.JobID(len(d.rig.rows.jobs))
}

func (d *divided) last() facts.JobID {
	if len(d.parts) == 0 {
		return 0
	}
	return d.parts[len(d.parts)-1]
}

func (d *divided) submit(rt *rapid.T, row facts.JobFacts) {
	rows := []facts.JobFacts{row}
	if !d.single && row.PAgenda != "" {
		var err error
		rows, _, err = divide.Of(row, func() (*agenda.Agenda, error) { return agenda.Parse(row.Agenda, 0) }, divide.Site{Priority: 5, Most: -1})
		if err != nil {
			rt.Fatal(err)
		}
	}
	for n, one := range rows {
		if n == len(rows)-1 && n > 0 {
			one.Division.Jobs = slices.Clone(d.parts)
		}
		e := d.rig.submission([]string{"parent"})
		one.Priority = 1
		e.Facts, e.Ticket = one, d.rig.newTicket()
		e.LabelHas = d.rig.rows.labelled(1, "beauty")
		d.rig.step(e)
		if n == 0 && len(rows) > 1 { // a submission may break off here, and go on later
			d.rig.settle()
		}
		d.rig.settle()
		d.parts = append(d.parts, facts.JobID(len(d.rig.rows.jobs)))
	}
}

// do has something happen to an item of the parent, or to the farm.
func (d *divided) do(step, name string, retries bool) {
	if step == "crash" {
		d.rig.say("crash")
		return
	}
	for _, id := range d.parts {
		j := d.rig.rows.jobs[id]
		if step == "forget" {
			if j.State.Final() {
				d.rig.say(fmt.Sprintf("forget %d", id))
			}
			continue
		}
		a, err := agenda.Parse(j.Agenda, 0)
		if err != nil {
			d.rig.t.Fatal(err)
		}
		n, ok := a.Find(name)
		if !ok {
			continue
		}
		state := d.stateOf(id, n)
		switch {
		case step == "retry" && retries && (state == facts.Failed || state == facts.Killed):
			d.rig.say(fmt.Sprintf("retry %d items=%s", id, name))
		case state != facts.Running:
		case step == "done":
			d.rig.say(fmt.Sprintf("finish %d/%s", id, name))
		case step == "fail":
			d.rig.say(fmt.Sprintf("finish %d/%s exit=1", id, name))
		case step == "kill":
			d.rig.say(fmt.Sprintf("kill %d items=%s", id, name))
		}
	}
}

// stateOf is the state of the latest attempt of an item.
func (d *divided) stateOf(id facts.JobID, item int) (state facts.AttemptState) {
	number := 0
	for at, a := range d.rig.rows.attempts {
		if at.Job == id && int(at.Item) == item && at.Number > number {
			number, state = at.Number, a.State
		}
	}
	return state
}

// started are the items of the child that have started, by name.
func (d *divided) started() []string {
	var names []string
	for at := range d.rig.rows.attempts {
		if at.Job == d.child && d.child != 0 {
			name := d.rig.item(at)
			_, name, _ = strings.Cut(name, "/")
			names = append(names, name)
		}
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}
