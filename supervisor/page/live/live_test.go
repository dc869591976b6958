package live

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// farmOf is a view of that many jobs and hosts, as different as on a real farm: numbers are drawn, not counted up.
func farmOf(jobs, hosts int) *message.View {
	v, r := &message.View{}, rand.New(rand.NewPCG(1, 2))
	for n := range jobs {
		done, runs := r.IntN(200), r.IntN(33)
		j := facts.JobView{JobFacts: facts.JobFacts{ID: facts.JobID(n + 1000), Version: 1 + int64(r.IntN(3)),
			Name: fmt.Sprintf("seq%02d_sh%04d_beauty_v%03d", n%40, n*10, r.IntN(17)), User: fmt.Sprintf("artist%d", r.IntN(60)),
			Priority: 100 + r.IntN(900), Cluster: fmt.Sprintf("/show%d/seq%d", n%5, n%40), CPUs: 10,
			SubmittedAt: time.Unix(1_790_000_000+int64(n)*37+int64(r.IntN(30)), 0)},
			Status: "running", Primary: r.IntN(11), Secondary: r.IntN(23), MaxCPUsEffective: 100,
			MeanItemSeconds: float64(r.IntN(9770)) / 10,
			Items:           facts.ItemCounts{Total: 240, Pending: 240 - done - runs, Running: runs, Complete: done},
			Reason:          fmt.Sprintf("all %d slots that fit are taken, %d by its own", 100+n%7, runs), Code: "slots_taken"}
		j.EstimatedItemSeconds, j.Memory.Need, j.Memory.LargestPeak = j.MeanItemSeconds, 4<<30, int64(r.IntN(1000))<<22
		v.Jobs = append(v.Jobs, &j)
	}
	for n := range hosts {
		h := message.HostView{HostFacts: facts.HostFacts{ID: facts.HostID(fmt.Sprintf("rn%05d", n)), Slots: 16,
			Memory: 128 << 30, Cluster: fmt.Sprintf("/show%d", n%5)},
			State: "up", Used: r.IntN(17), Available: int64(r.IntN(128)) << 30, Promised: int64(r.IntN(96)) << 30}
		for range h.Used {
			h.Instances = append(h.Instances, message.InstanceView{Job: facts.JobID(1000 + r.IntN(1000))})
		}
		v.Hosts = append(v.Hosts, &h)
	}
	return v
}

// busier is what a second of work makes of a view: of every job an item or two end and others start.
func busier(v *message.View) *message.View {
	next, r := *v, rand.New(rand.NewPCG(3, 4))
	next.Jobs = slices.Clone(v.Jobs)
	for n := range next.Jobs {
		is := *next.Jobs[n]
		j := &is
		next.Jobs[n] = j
		ended, started := 1+r.IntN(2), 1+r.IntN(2)
		j.Items.Complete, j.Items.Running, j.Items.Pending = j.Items.Complete+ended, j.Items.Running+started-ended,
			j.Items.Pending-started
		j.MeanItemSeconds += float64(r.IntN(20)-10) / 10
		j.EstimatedItemSeconds = j.MeanItemSeconds
		j.Secondary += r.IntN(3)
		if r.IntN(20) == 0 {
			j.Memory.LargestPeak += int64(r.IntN(1000)) << 20
		}
	}
	return &next
}

// boardOf is a board of a view that can be changed; nothing runs by itself.
func boardOf(v **message.View) *Board {
	b := New(func() *message.View { return *v }, func(v *message.View) api.Totals {
		return api.Totals{Slots: api.SlotCounts{Total: len(v.Hosts)}}
	})
	b.readers, b.stop = 1, make(chan struct{}) // as if somebody read, so that no goroutine beats
	return b
}

// second lets a second pass.
func second(b *Board) {
	for range tables {
		b.tick()
	}
}

func events(list []*Message) string {
	var names []string
	for _, m := range list {
		name, _, _ := strings.Cut(strings.TrimPrefix(string(m.Plain), "event: "), "\n")
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

type change struct {
	Full    bool
	Gone    []any
	Keys    []any
	Columns map[string][]any
}

func tableOf(t interface{ Fatalf(string, ...any) }, m *Message) (c change) {
	_, data, _ := strings.Cut(string(m.Plain), "data: ")
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return c
}

// keys are those of the rows of a change, as a reader gets them.
func (c *change) keys() (keys []any) {
	if len(c.Keys) > 1 {
		if _, text := c.Keys[1].(string); text {
			before := ""
			for n := 0; n < len(c.Keys); n += 2 {
				before = before[:int(c.Keys[n].(float64))] + c.Keys[n+1].(string)
				keys = append(keys, before)
			}
			return keys
		}
	}
	sum := 0.0
	for _, d := range c.Keys {
		sum += d.(float64)
		keys = append(keys, sum)
	}
	return keys
}

// take makes a reader's rows what a change says.
func (c *change) take(rows map[any]map[string]any) {
	if c.Full {
		clear(rows)
	}
	for _, key := range c.Gone {
		delete(rows, key)
	}
	for n, key := range c.keys() {
		if rows[key] == nil {
			rows[key] = map[string]any{}
		}
		for name, cells := range c.Columns {
			if cells[n] != nil {
				rows[key][name] = cells[n]
			}
		}
	}
}

// TestRowsFollow: whatever jobs and hosts come, change and go, a reader who takes in each message has the rows of one
// who asks for all.
func TestRowsFollow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := &message.View{}
		b := boardOf(&v)
		follower, jobs, hosts := b.Enter(0), map[any]map[string]any{}, map[any]map[string]any{}
		for range rapid.IntRange(1, 6).Draw(t, "looks") {
			next := &message.View{}
			for id := range 8 {
				if rapid.Bool().Draw(t, "job") {
					text := rapid.SampledFrom([]string{"", "a", `"<\u202e ü`, "\x00\n"}).Draw(t, "name")
					next.Jobs = append(next.Jobs, &facts.JobView{JobFacts: facts.JobFacts{ID: facts.JobID(id * id), Name: text},
						Items: facts.ItemCounts{Complete: rapid.IntRange(0, 2).Draw(t, "complete")}, MeanItemSeconds: 0.04, Reason: text})
				}
			}
			for _, name := range []string{"r", "rn", "rn1", "rné", "rnè", "é", "è"} {
				if rapid.Bool().Draw(t, "host") {
					next.Hosts = append(next.Hosts,
						&message.HostView{HostFacts: facts.HostFacts{ID: facts.HostID(name), Slots: rapid.IntRange(0, 1).Draw(t, "slots")},
							Remark: rapid.SampledFrom([]string{"", "a"}).Draw(t, "remark")})
				}
			}
			v = next
			for range slowly {
				second(b)
			}
			news, _ := follower.Next()
			for _, m := range news {
				if c := tableOf(t, m); c.Columns != nil {
					c.take(map[bool]map[any]map[string]any{true: jobs, false: hosts}[events([]*Message{m}) == "jobs"])
				}
			}
			whole, _ := b.Enter(0).Next()
			for n, rows := range []map[any]map[string]any{jobs, hosts} {
				all, c := map[any]map[string]any{}, tableOf(t, whole[1+n])
				c.take(all)
				if !reflect.DeepEqual(rows, all) {
					t.Fatalf("a follower has %v, another %v", rows, all)
				}
			}
			if len(jobs) != len(v.Jobs) || len(hosts) != len(v.Hosts) {
				t.Fatalf("%d jobs and %d hosts of %d and %d", len(jobs), len(hosts), len(v.Jobs), len(v.Hosts))
			}
			for _, j := range v.Jobs {
				if row := jobs[float64(j.ID)]; row["name"] != j.Name && j.Name != "\xff" ||
					row["complete"] != float64(j.Items.Complete) || row["reason"] != j.Reason || row["mean"] != 0.0 {
					t.Fatalf("job %d is %v", j.ID, row)
				}
			}
		}
	})
}

// A reader gets all first, then the rows that changed within a second together; one who was slow gets all again.
func TestReaders(t *testing.T) {
	v := farmOf(5, 2)
	b := boardOf(&v)
	quick, slow := b.Enter(0), b.Enter(0)
	second(b)
	news, more := quick.Next()
	slow.Next()
	if got := events(news); got != "farm jobs hosts" || !tableOf(t, news[1]).Full || len(tableOf(t, news[1]).Keys) != 5 ||
		len(tableOf(t, news[1]).Columns) != len(JobColumns)-1 || len(tableOf(t, news[2]).Columns) != len(HostColumns)-1 {
		t.Fatalf("first: %s", got)
	}
	next := farmOf(5, 2)
	next.Jobs[1].Items.Complete++
	next.Jobs[2].Reason = "in 3598 s"
	next.Jobs = append(next.Jobs[:4:4], farmOf(6, 0).Jobs[5])
	v = next
	second(b)
	select {
	case <-more:
	default:
		t.Error("nobody is told of news")
	}
	news, _ = quick.Next()
	if got := tableOf(t, news[0]); events(news) != "jobs" || got.Full || len(got.Keys) != 2 || len(got.Gone) != 1 ||
		got.Gone[0].(float64) != 1004 || got.Columns["complete"][0] == nil || got.Columns["name"][0] != nil {
		t.Errorf("then: %s %+v", events(news), got)
	}
	another := *next
	v = &another
	another.Jobs = farmOf(5, 2).Jobs
	second(b)
	if news, _ = slow.Next(); !tableOf(t, news[0]).Full {
		t.Error("a slow reader misses something")
	}
	for range slowly {
		second(b)
	}
	quick.Next()
	again := another
	again.Jobs = farmOf(5, 2).Jobs
	again.Jobs[0].Reason = "in 3597 s"
	v = &again
	told := 0
	for range slowly {
		second(b)
		if news, _ = quick.Next(); len(news) > 0 {
			told++
		}
	}
	if told != 1 {
		t.Errorf("a sentence that changes is told %d times in %d looks", told, slowly)
	}
}

// What happens to items comes as letters, the last of a moment; marks and other jobs do not.
func TestItems(t *testing.T) {
	v := farmOf(1, 1)
	b := boardOf(&v)
	r := b.Enter(7)
	second(b)
	r.Next()
	id := func(job facts.JobID, item facts.ItemNo) facts.AttemptID {
		return facts.AttemptID{Job: job, Item: item, Number: 1}
	}
	b.Note([]facts.Write{
		facts.StartAttempt{Attempt: facts.AttemptFacts{RunFacts: facts.RunFacts{AttemptID: id(7, 3), Kind: facts.Secondary}}},
		facts.StartAttempt{Attempt: facts.AttemptFacts{RunFacts: facts.RunFacts{AttemptID: id(7, 1), Kind: facts.Secondary}}},
		facts.EndAttempt{ID: id(7, 1), State: facts.Done}, facts.EndAttempt{ID: id(8, 2), State: facts.Done},
	})
	b.tick()
	news, _ := r.Next()
	if len(news) != 1 || !strings.Contains(string(news[0].Plain), `"job":7,"items":[1,3],"states":"cs"`) {
		t.Errorf("%s", news[0].Plain)
	}
	b.Note([]facts.Write{facts.ChangeMarks{Job: 7}})
	b.tick()
	if news, _ = r.Next(); !strings.Contains(string(news[0].Plain), `"anew":true`) {
		t.Errorf("%s", news[0].Plain)
	}
	for n := range facts.ItemNo(maxTogether + 1) {
		b.Note([]facts.Write{facts.EndAttempt{ID: id(7, n), State: facts.Done}})
	}
	b.tick()
	if news, _ = r.Next(); !strings.Contains(string(news[0].Plain), `"anew":true`) {
		t.Errorf("%.100s", news[0].Plain)
	}
	r.Leave()
	if len(b.items) != 0 {
		t.Error("items are followed that nobody looks at")
	}
}

// TestBytes: the tables of a large farm, compressed, and what a second of it takes.
func TestBytes(t *testing.T) {
	v := farmOf(1000, 10_000)
	b := boardOf(&v)
	r := b.Enter(0)
	second(b)
	whole, _ := r.Next()
	v = busier(v)
	second(b)
	busy, _ := r.Next()
	for what, c := range map[string]struct {
		m    *Message
		most int
	}{"1,000 jobs": {whole[1], 30_000}, "10,000 hosts": {whole[2], 70_000},
		"a second of 1,000 busy jobs": {busy[0], 10_000}} {
		t.Logf("%s: %d bytes, compressed %d", what, len(c.m.Plain), len(c.m.Packed()))
		if len(c.m.Packed()) > c.most {
			t.Errorf("%s: %d bytes compressed, more than %d", what, len(c.m.Packed()), c.most)
		}
	}
	// Pieces that were compressed one by one are one stream.
	in, err := gzip.NewReader(bytes.NewReader(append(append(bytes.Clone(Head), whole[0].Packed()...),
		whole[1].Packed()...)))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(in)
	if want := string(whole[0].Plain) + string(whole[1].Plain); string(out) != want || err != io.ErrUnexpectedEOF {
		t.Errorf("%d bytes of %d, %v", len(out), len(want), err)
	}
}

// BenchmarkSecond measures one second of a farm of 10,000 hosts and 1,000 busy jobs, independent of the number of
// readers.
func BenchmarkSecond(b *testing.B) {
	v := farmOf(1000, 10_000)
	views := []*message.View{v, busier(v)}
	board := boardOf(&v)
	r := board.Enter(0)
	for n := 0; b.Loop(); n++ {
		v = views[n%2]
		second(board)
		news, _ := r.Next()
		for _, m := range news {
			m.Packed()
		}
	}
}
