package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"qb/api"
	"qb/internal/pause"
	"qb/supervisor/job/facts"
	"qb/supervisor/store/postgres"
)

// How long a difference between leader and rows must last to be one. Both are read while items start and end, and a
// leader shows what a commit has written at most a view (1 s) and a commit that hangs (8 s) later; attempts are never
// the same again, so a difference that stays longer is not on its way.
const (
	recountEvery = 1500 * time.Millisecond
	recountFor   = 12 * time.Second
)

// notCompared is why no leader could be compared with the rows.
type notCompared struct{ error }

// recount compares what the leader counts as taken on its hosts with what the rows of what lives hold, until all
// differences are gone or have lasted.
type recount struct {
	rows            func() ([]facts.AttemptFacts, error)
	hosts           func() ([]api.Host, error)
	every, patience time.Duration
}

func (r recount) run(ctx context.Context) ([]postgres.Problem, error) {
	var lasting map[string]postgres.Problem
	for end := time.Now().Add(r.patience); ; {
		says, err := r.hosts()
		if err != nil {
			return nil, &notCompared{err}
		}
		live, err := r.rows()
		if err != nil {
			return nil, err
		}
		found := differences(says, live)
		if lasting == nil {
			lasting = found
		}
		maps.DeleteFunc(lasting, func(text string, _ postgres.Problem) bool {
			_, still := found[text]
			return !still
		})
		if len(lasting) == 0 || time.Now().After(end) {
			break
		}
		if err := pause.For(ctx, r.every); err != nil {
			return nil, err
		}
	}
	var list []postgres.Problem
	for _, text := range slices.Sorted(maps.Keys(lasting)) {
		list = append(list, lasting[text])
	}
	return list, nil
}

// taken is what an attempt holds, and where; it is compared as a text, which is also what is shown.
type taken struct {
	host     string
	instance int
	slots    int
	memory   int64
	holds    map[string]int64
	devices  []int
}

func (t taken) String() string {
	text := fmt.Sprintf("instance %d on %s with %d slots and %d bytes of memory", t.instance, t.host, t.slots, t.memory)
	for _, name := range slices.Sorted(maps.Keys(t.holds)) {
		text += fmt.Sprintf(", %d of %s", t.holds[name], name)
	}
	if len(t.devices) > 0 {
		text += fmt.Sprintf(", devices %v", t.devices)
	}
	return text
}

// differences are what the leader and the rows say differently, and sums of the leader's that its own list does not
// give; by their text.
func differences(hosts []api.Host, live []facts.AttemptFacts) map[string]postgres.Problem {
	found := map[string]postgres.Problem{}
	add := func(job facts.JobID, item *facts.ItemNo, format string, args ...any) {
		p := postgres.Problem{Kind: postgres.ProblemHeld, Job: job, Item: item, Text: fmt.Sprintf(format, args...)}
		found[p.String()] = p
	}
	byRow := map[facts.AttemptID]taken{}
	for _, a := range live {
		byRow[a.AttemptID] = taken{string(a.Host), a.Instance, a.Taken(), a.Memory, a.Holds, a.Devices}
	}
	for _, h := range hosts {
		slots, memory := 0, int64(0)
		for _, i := range h.Instances {
			slots, memory = slots+i.Slots, memory+i.Memory
			id := facts.AttemptID{Job: facts.JobID(i.Job), Item: facts.ItemNo(i.Number), Number: i.Attempt}
			said := taken{h.Name, i.Instance, i.Slots, i.Memory, i.Holds, i.Devices}
			row, known := byRow[id]
			delete(byRow, id)
			switch {
			case !known:
				add(id.Job, &id.Item, "the leader counts attempt %d as %v, but no row of it is live", id.Number, said)
			case row.String() != said.String():
				add(id.Job, &id.Item, "the leader counts attempt %d as %v, its row says %v", id.Number, said, row)
			}
		}
		if slots != h.Slots.Used || memory != h.Memory.Promised {
			add(0, nil, "host %s: the leader counts %d slots and %d bytes of memory as taken, its instances hold %d and %d",
				h.Name, h.Slots.Used, h.Memory.Promised, slots, memory)
		}
	}
	for id, row := range byRow {
		add(id.Job, &id.Item, "attempt %d is live, %v, but the leader does not count it", id.Number, row)
	}
	return found
}
