package sim

import (
	"maps"
	"slices"
	"testing"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/storetest"
)

// Worlds whose database is put back by some terms, or copied, so that two leaders with databases from one dump are on
// one network.

type simPutBack string

const (
	simRestored simPutBack = "database put back"
	simCopied   simPutBack = "database copied"
)

// Seeds of such worlds, of so many each one; seeds that stand elsewhere in the tests are none.
const (
	simPutBackEvery = 29
	simRestoredAt   = 13
	simCopiedAt     = 22
)

// simSide is a database with what is durable in it.
type simSide struct {
	database *simDatabase
	rows     *simRows
	promised map[string]map[facts.AttemptID]simPromise // by machine, while another side is in use
}

// drawPutBack draws by the seed alone, so that all other worlds are as they would be without.
func (w *simWorld) drawPutBack() {
	kind := map[uint64]simPutBack{simRestoredAt: simRestored, simCopiedAt: simCopied}[w.seed%simPutBackEvery]
	if kind != "" {
		w.faults = simFaults{putBack: kind}
		w.faults.lasts = 110 * time.Second
	}
}

func (w *simWorld) schedulePutBack() {
	switch w.faults.putBack {
	case simRestored:
		w.after(w.between(12*time.Second, 20*time.Second), w.backUp)
	case simCopied:
		w.after(w.between(12*time.Second, 20*time.Second), w.copyDatabase)
	}
}

// enter takes a database in use, and returns the way back.
func (w *simWorld) enter(side int) (leave func()) {
	was := w.side
	w.turnTo(side)
	return func() { w.turnTo(was) }
}

func (w *simWorld) turnTo(side int) {
	if side == w.side {
		return
	}
	from, to := w.sides[w.side], w.sides[side]
	from.rows, from.promised = w.rows, map[string]map[facts.AttemptID]simPromise{}
	for _, h := range w.hosts {
		if from.promised[h.machine.name] == nil {
			from.promised[h.machine.name] = h.machine.promised
			h.machine.promised = to.promised[h.machine.name]
			if h.machine.promised == nil {
				h.machine.promised = map[facts.AttemptID]simPromise{}
			}
		}
	}
	w.side, w.database, w.rows = side, to.database, to.rows
}

// given is the row under which an attempt was given out, wherever: a live one, if any.
func (w *simWorld) given(id facts.AttemptID) (row *facts.AttemptFacts) {
	all := slices.Clone(w.former)
	for n, side := range w.sides {
		if n != w.side {
			all = append(all, side.rows)
		}
	}
	if row = w.rows.attempt(id); row != nil && row.State.Live() {
		return row
	}
	for _, rows := range all {
		if other := rows.attempt(id); other != nil && (row == nil || other.State.Live()) {
			row = other
		}
	}
	return row
}

// clone copies the rows of a moment.
func (r *simRows) clone() *simRows {
	c := *r
	c.jobs = map[facts.JobID]*simJobRow{}
	for id, j := range r.jobs {
		one := *j
		one.attempts = map[facts.ItemNo][]facts.AttemptFacts{}
		for item, list := range j.attempts {
			one.attempts[item] = slices.Clone(list)
		}
		one.marks, one.failures, one.preempted, one.strange = slices.Clone(j.marks), maps.Clone(j.failures), maps.Clone(j.preempted), maps.Clone(j.strange)
		c.jobs[id] = &one
	}
	c.held, c.locks, c.slots, c.began = maps.Clone(r.held), maps.Clone(r.locks), maps.Clone(r.slots), maps.Clone(r.began)
	c.vacated, c.draining, c.wide = maps.Clone(r.vacated), maps.Clone(r.draining), maps.Clone(r.wide)
	c.stopped, c.outlived, c.late = maps.Clone(r.stopped), maps.Clone(r.outlived), maps.Clone(r.late)
	c.books.given, c.books.owed, c.books.rows = maps.Clone(r.books.given), maps.Clone(r.books.owed), maps.Clone(r.books.rows)
	c.books.budgets = maps.Clone(r.books.budgets)
	return &c
}

// simDump is a backup, with what the checks know at its moment.
type simDump struct {
	memory   *storetest.Memory
	rows     *simRows
	epoch    int64
	promised map[string]map[facts.AttemptID]simPromise
}

// dump is taken when no one waits for an answer: what was acknowledged is in it.
func (w *simWorld) dump() simDump {
	d := simDump{w.database.memory.Dump(), w.rows.clone(), w.database.epoch, map[string]map[facts.AttemptID]simPromise{}}
	for _, h := range w.hosts {
		d.promised[h.machine.name] = maps.Clone(h.machine.promised)
	}
	return d
}

// backUp takes a dump, lets some terms pass, and puts the dump back.
func (w *simWorld) backUp() {
	if len(w.clients.open()) > 0 {
		w.after(time.Second, w.backUp)
		return
	}
	w.note("db: a backup is taken")
	dump := w.dump()
	terms := 1 + w.random.IntN(4)
	for n := range terms {
		w.after(time.Duration(n+1)*5*time.Second, func() {
			for _, s := range w.supervisors {
				if s.term != nil {
					s.kill()
					s.start()
				}
			}
		})
	}
	w.after(time.Duration(terms+1)*5*time.Second+w.between(0, 5*time.Second), func() { w.putBack(dump) })
}

// putBack replaces the rows by those of a dump under the supervisor that leads.
func (w *simWorld) putBack(d simDump) {
	if slices.ContainsFunc(w.hosts, func(h *simHost) bool { return h.disk.term.Term.Epoch <= d.epoch }) {
		// what no host can know of, no host can tell: qb restore writes it into the rows
		w.after(time.Second, func() { w.putBack(d) })
		return
	}
	w.note("FAULT db: put back from epoch %d to %d", w.database.epoch, d.epoch)
	w.some("fault: database put back")
	w.former = append(w.former, w.rows)
	w.database.memory.PutBack(d.memory)
	w.database.epoch, w.database.leads = d.epoch, 0
	for _, s := range w.supervisors {
		if s.term != nil {
			s.term.session.replaced = true
		}
	}
	w.rows = d.rows
	w.sides[w.side].rows = d.rows
	for _, h := range w.hosts {
		h.machine.promised = maps.Clone(d.promised[h.machine.name])
	}
	// A leader finds out within CheckEvery and leads again; hosts find it within their longest wait.
	w.after(store.CheckEvery+listenedTo, func() { w.checkUp("the database was put back") })
}

// listenedTo is the time in which all hosts are up after a restore.
const listenedTo = 10 * time.Second

func (w *simWorld) checkUp(since string) {
	if w.leader() == nil {
		w.fail("L8: nobody leads %s after %s", listenedTo, since)
		return
	}
	for _, h := range w.hosts {
		if state := w.stateOf(h); h.on && h.agent != nil && state != "up" && state != "locked" {
			w.fail("L8: %s is %s %s after %s", h.name, state, listenedTo, since)
			return
		}
	}
	w.some("all hosts up soon after a restore")
}

// copyDatabase makes a second database of a dump, with a leader of its own on the same network, which workers ask now
// and then. Then the supervisors of the first one die, and come back later.
func (w *simWorld) copyDatabase() {
	if len(w.clients.open()) > 0 {
		w.after(time.Second, w.copyDatabase)
		return
	}
	w.note("FAULT db: copied at epoch %d", w.database.epoch)
	w.some("fault: database copied")
	d := w.dump()
	known := len(d.rows.began)
	copied := &simDatabase{world: w, side: 1, memory: d.memory, epoch: d.epoch, skew: w.database.skew, perRow: w.database.perRow}
	w.sides = append(w.sides, &simSide{copied, d.rows, d.promised})
	originals := slices.Clone(w.supervisors)
	other := newSimSupervisor(w, len(originals))
	other.side = 1
	w.supervisors = append(w.supervisors, other)
	other.start()
	w.lookAround()
	w.after(25*time.Second, func() {
		if started := len(w.sides[1].rows.began) - known; started > 0 {
			w.fail("S15: the copy has started %d attempts while hosts obey the original", started)
		}
		w.some("a copy gave nothing out beside its original")
		for _, s := range originals {
			s.kill()
		}
		w.turnTo(1)
	})
	w.after(55*time.Second, func() {
		w.checkUp("the original's supervisors died")
		for _, s := range originals {
			if !s.alive {
				s.start()
			}
		}
	})
}

// lookAround has workers turn to another supervisor now and then, as they do when it says that it leads.
func (w *simWorld) lookAround() {
	for _, h := range w.hosts {
		if s := simPick(w, w.supervisors); h.agent != nil && s.alive && s.term != nil && s.term.watch != nil {
			if t := s.term; t.watch.Listens(w.now) || t.watch.Why(w.now) == "" {
				h.agent.at = slices.Index(w.supervisors, s)
			}
		}
	}
	if !w.calm {
		w.after(w.between(time.Second, 3*time.Second), func() { w.lookAround() })
	}
}

// TestSimPutBack lives through seeds of such worlds alone.
func TestSimPutBack(t *testing.T) {
	_, first, many := seedsWanted()
	reached := map[string]int{}
	for n := range uint64(max(many/5, 8)) {
		for _, at := range []uint64{simRestoredAt, simCopiedAt} {
			w := simulate((first/simPutBackEvery+n)*simPutBackEvery+at, nil)
			if w.failure != "" {
				t.Errorf("%s\nseed %d: %s", w.story(), w.seed, w.failure)
				return
			}
			for point, n := range w.reached {
				reached[point] += n
			}
		}
	}
	for _, point := range []string{
		"a higher term was heard of", "a leader stopped for a copy of its database", "hosts were listened to after a restore",
		"an attempt that no host reported stopped after a restore", "all hosts up soon after a restore", "a copy gave nothing out beside its original",
		"hosts went over to a copy",
	} {
		t.Logf("%8d  %s", reached[point], point)
		if reached[point] == 0 {
			t.Errorf("no world reached: %s", point)
		}
	}
}

func init() {
	simSometimes = append(simSometimes, "fault: "+string(simRestored), "fault: "+string(simCopied))
}
