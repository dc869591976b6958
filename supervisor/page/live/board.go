package live

import (
	"bytes"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

const (
	beat   = 250 * time.Millisecond
	tables = 4 // beats from one look at the view to the next
	slowly = 5 // looks from one comparison of sentences to the next
)

// Board is what all readers see.
type Board struct {
	view   func() *message.View // the last that is durable; nil: there is none
	totals func(*message.View) api.Totals

	mu      sync.Mutex
	wake    chan struct{} // closed when there is news
	stop    chan struct{} // closed when the last reader leaves; nil without readers
	readers int
	beats   uint64
	shown   *message.View // of the tables
	jobs    table[facts.JobID]
	hosts   table[facts.HostID]
	farm    numbers
	items   map[facts.JobID]*feed
}

// New is a board without readers.
func New(view func() *message.View, totals func(*message.View) api.Totals) *Board {
	return &Board{
		view: view, totals: totals, wake: make(chan struct{}), items: map[facts.JobID]*feed{},
		jobs:  table[facts.JobID]{event: "jobs", columns: JobColumns[1:], pack: differences[facts.JobID]},
		hosts: table[facts.HostID]{event: "hosts", columns: HostColumns[1:], pack: endings[facts.HostID]},
	}
}

// numbers is the latest message with the farm's numbers.
type numbers struct {
	seq uint64 // rises when they change
	is  *Message
}

func (f *numbers) change(totals api.Totals) bool {
	next := NewMessage("farm", totals)
	if f.is != nil && bytes.Equal(f.is.Plain, next.Plain) {
		return false
	}
	f.is = next
	f.seq++
	return true
}

func (f *numbers) since(seen uint64) *Message {
	if seen == f.seq {
		return nil
	}
	return f.is
}

// Reader is the place of one who reads.
type Reader struct {
	board             *Board
	job               facts.JobID // whose items are read; 0: none
	jobs, hosts, farm uint64
	items             uint64
}

// Enter adds a reader, also of a job's items if job is not 0. The reader gets all changes from now on.
func (b *Board) Enter(job facts.JobID) *Reader {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &Reader{board: b, job: job}
	if job != 0 {
		f := b.items[job]
		if f == nil {
			f = &feed{pending: map[facts.ItemNo]byte{}, seq: 1}
			b.items[job] = f
		}
		f.readers++
		r.items = f.seq
	}
	if b.readers++; b.readers == 1 {
		b.look(true)
		b.stop = make(chan struct{})
		go b.run(b.stop)
	}
	return r
}

// Leave gives the place back.
func (r *Reader) Leave() {
	b := r.board
	b.mu.Lock()
	defer b.mu.Unlock()
	if f := b.items[r.job]; f != nil {
		if f.readers--; f.readers == 0 {
			delete(b.items, r.job)
		}
	}
	if b.readers--; b.readers == 0 {
		close(b.stop)
	}
}

// Next is what the reader has not seen, and a channel that is closed when there is more.
func (r *Reader) Next() (news []*Message, more <-chan struct{}) {
	b := r.board
	b.mu.Lock()
	defer b.mu.Unlock()
	add := func(m *Message) {
		if m != nil {
			news = append(news, m)
		}
	}
	add(b.farm.since(r.farm))
	add(b.jobs.since(r.jobs))
	add(b.hosts.since(r.hosts))
	r.farm = b.farm.seq
	r.jobs = b.jobs.seq
	r.hosts = b.hosts.seq
	if f := b.items[r.job]; f != nil {
		add(f.since(r.job, r.items))
		r.items = f.seq
	}
	return news, b.wake
}

func (b *Board) run(stop <-chan struct{}) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			b.tick()
		case <-stop:
			return
		}
	}
}

func (b *Board) tick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	news := false
	for job, f := range b.items {
		news = f.send(job) || news
	}
	if b.beats++; b.beats%tables == 0 {
		news = b.look(b.beats%(tables*slowly) == 0) || news
	}
	if news {
		close(b.wake)
		b.wake = make(chan struct{})
	}
}

// look takes the rows of the last view.
func (b *Board) look(slow bool) (news bool) {
	v := b.view()
	if v == nil {
		return false
	}
	news = b.farm.change(b.totals(v))
	if v == b.shown && !slow {
		return news
	}
	b.shown = v
	news = b.jobs.change(len(v.Jobs), slow, func(n int, w *writer) facts.JobID { return jobRow(v.Jobs[n], w) }) || news
	return b.hosts.change(len(v.Hosts), slow, func(n int, w *writer) facts.HostID {
		return hostRow(v.Hosts[n], w)
	}) || news
}
