package live

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/message"
)

// farmOf is a view of that many jobs and hosts, as different as on a real farm.
func farmOf(jobs, hosts int) *message.View {
	v := &message.View{}
	for n := range jobs {
		j := facts.JobView{JobFacts: facts.JobFacts{ID: facts.JobID(n + 1000), Version: 1, Name: fmt.Sprintf("seq%02d_sh%04d_beauty_v%03d", n%40, n*10, n%17), User: fmt.Sprintf("artist%d", n%60),
			Priority: 100 + n%900, Cluster: fmt.Sprintf("/show%d/seq%d", n%5, n%40), CPUs: 10, SubmittedAt: time.Unix(1_790_000_000+int64(n)*37, 0)},
			Status: "running", Primary: n % 10, Secondary: n % 23, MaxCPUsEffective: 100, MeanItemSeconds: float64(n%977) + 0.3,
			Items: facts.ItemCounts{Total: 240, Pending: 200 - n%150, Running: n % 33, Complete: 40 + n%150 - n%33}, Reason: fmt.Sprintf("all %d slots that fit are taken, %d by its own", 100+n%7, n%33), Code: "slots_taken"}
		v.Jobs = append(v.Jobs, j)
	}
	for n := range hosts {
		v.Hosts = append(v.Hosts, message.HostView{HostFacts: facts.HostFacts{ID: facts.HostID(fmt.Sprintf("rn%05d", n)), Slots: 16, Memory: 128 << 30, Cluster: fmt.Sprintf("/show%d", n%5)},
			State: "up", Used: n % 17, Available: int64(n%128) << 30, Promised: int64(n%96) << 30, Instances: []message.InstanceView{{Job: facts.JobID(1000 + n%977)}, {Job: facts.JobID(1000 + n%31)}}})
	}
	return v
}

// boardOf is a board of a view that can be changed; nothing runs by itself.
func boardOf(v **message.View) *Board {
	b := New(func() *message.View { return *v }, func(v *message.View) api.Totals { return api.Totals{Slots: api.SlotCounts{Total: len(v.Hosts)}} })
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
	Full bool
	Gone []any
	Rows [][]any
}

func tableOf(t *testing.T, m *Message) (c change) {
	t.Helper()
	_, data, _ := strings.Cut(string(m.Plain), "data: ")
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return c
}

// A reader gets all first, then the rows that changed within a second together; one who was slow gets all again.
func TestReaders(t *testing.T) {
	v := farmOf(5, 2)
	b := boardOf(&v)
	quick, slow := b.Enter(0), b.Enter(0)
	second(b)
	news, more := quick.Next()
	slow.Next()
	if got := events(news); got != "farm jobs hosts" || !tableOf(t, news[1]).Full || len(tableOf(t, news[1]).Rows) != 5 || len(tableOf(t, news[1]).Rows[0]) != len(JobColumns) || len(tableOf(t, news[2]).Rows[0]) != len(HostColumns) {
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
	if got := tableOf(t, news[0]); events(news) != "jobs" || got.Full || len(got.Rows) != 2 || len(got.Gone) != 1 || got.Gone[0].(float64) != 1004 {
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
		facts.StartAttempt{Attempt: facts.AttemptFacts{AttemptID: id(7, 3), Kind: facts.Secondary}}, facts.StartAttempt{Attempt: facts.AttemptFacts{AttemptID: id(7, 1), Kind: facts.Secondary}},
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
	next := farmOf(1000, 10_000)
	for n := range next.Jobs {
		next.Jobs[n].Items.Complete += n % 3
		next.Jobs[n].Items.Pending -= n % 3
	}
	v = next
	second(b)
	busy, _ := r.Next()
	for what, c := range map[string]struct {
		m    *Message
		most int
	}{"1,000 jobs": {whole[1], 40 << 10}, "10,000 hosts": {whole[2], 150 << 10}, "a second of 1,000 busy jobs": {busy[0], 30 << 10}} {
		t.Logf("%s: %d bytes, compressed %d", what, len(c.m.Plain), len(c.m.Packed()))
		if len(c.m.Packed()) > c.most {
			t.Errorf("%s: %d bytes compressed, more than %d", what, len(c.m.Packed()), c.most)
		}
	}
	// Pieces that were compressed one by one are one stream.
	in, err := gzip.NewReader(bytes.NewReader(append(append(bytes.Clone(Head), whole[0].Packed()...), whole[1].Packed()...)))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(in)
	if want := string(whole[0].Plain) + string(whole[1].Plain); string(out) != want || err != io.ErrUnexpectedEOF {
		t.Errorf("%d bytes of %d, %v", len(out), len(want), err)
	}
}
