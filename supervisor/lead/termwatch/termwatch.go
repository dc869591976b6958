package termwatch

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/farmkey"
	"qb/supervisor/store"
)

// Waits of a term whose rows may be older than what hosts know.
const (
	listenFor = 10 * time.Second // until hosts that say nothing are waited for no longer
	livingFor = 10 * time.Second // a database is obeyed elsewhere for so long after its last answer
	clearFor  = 15 * time.Second // beyond the grace, for items to end that the rows do not know
	clearAll  = 2 * time.Minute  // the same for all hosts together, however many come one after another
	MostJobs  = 1_000_000_000    // a host that reports a job so far above the rows is not believed
	MostTries = 1_000_000        // the same limit for attempts

	maxEpoch   = 1 << 60
	maxWatched = 100_000 // hosts that are remembered to obey another database
)

// ListenBeat is how often a term that listens after a restore looks whether all hosts were heard.
const ListenBeat = 250 * time.Millisecond

// What a worker is refused with.
var (
	errListening = api.Errorf(api.KindUnavailable,
		"the database was restored: all hosts are listened to before the first is answered")
	ErrOtherDatabase = api.Errorf(api.KindUnavailable, "this host, or another, obeys another database of this farm")
	ErrTermEnds      = api.Errorf(api.KindUnavailable,
		"the supervisor's term ended before the outcome was known; repeat the request in a moment")
)

// Watch compares what workers report of terms with the own one. It finds out that the rows were put back, and that
// hosts obey another database; and after a restore it says when everybody has been listened to. It reads no clock.
type Watch struct {
	key   farmkey.Key
	term  api.Term
	past  []store.PastTerm
	grace time.Duration

	mu      sync.Mutex
	end     *End
	others  map[string]otherDatabase // by host
	round   *round                   // nil: nothing was put back
	foreign string                   // a host with a term that cannot be verified, to be logged
}

// End says that a term must end, for what a worker had proof of.
type End struct {
	Heard store.HigherTerm
	// hosts obey a copy in place of this database, or a promoted replica of it; else the next term is to be above what was
	// heard
	Superseded bool
}

// otherDatabase is another database that a host obeys.
type otherDatabase struct {
	lineage string
	until   time.Duration // it lives for so long at least
}

// round is the time after a restore in which nothing is given out.
type round struct {
	moved   bool          // the lineage is new: no host is answered until all have been listened to
	began   time.Duration // of the listening
	opened  time.Duration // when it was over and answers began; 0: not yet
	unheard map[string]bool
	// since when hosts run what the rows do not know, or have not come over from another lineage
	unclear  map[string]time.Duration
	live     map[api.AttemptID]string   // that the rows tell of, by host
	runs     []api.AttemptID            // attempts of live that are not being ended
	reported map[string][]api.AttemptID // attempts with rows that each host reported last
	jobs     int64                      // highest numbers, of rows and reports
	tries    int
	came     bool // a host obeys this database
	awaited  int  // what else will tell numbers
}

// New makes the watch of a term that was loaded with these rows.
func New(key farmkey.Key, epoch int64, began time.Time, d store.Descent, rows facts.Facts,
	grace, now time.Duration) *Watch {
	w := &Watch{key: key, past: d.Past, grace: grace, others: map[string]otherDatabase{}}
	w.term = w.sign(d.Lineage, epoch, began.UnixMicro(), d.Timeline)
	if !d.PutBack {
		return w
	}
	r := &round{
		moved: d.Moved, began: now, unheard: map[string]bool{}, unclear: map[string]time.Duration{},
		live: map[api.AttemptID]string{}, reported: map[string][]api.AttemptID{},
		jobs: int64(rows.NextJob) - 1, tries: max(rows.LastAttempt, rows.AttemptFloor),
	}
	for _, h := range rows.Hosts {
		r.unheard[string(h.ID)] = true
	}
	for _, j := range rows.Jobs {
		for _, a := range j.Attempts {
			if a.State.Live() {
				r.live[attemptOnWire(a.AttemptID)] = string(a.Host)
				if a.State == facts.Running {
					r.runs = append(r.runs, attemptOnWire(a.AttemptID))
				}
			}
		}
	}
	if !r.moved {
		r.opened = now
	}
	w.round = r
	return w
}

func attemptOnWire(id facts.AttemptID) api.AttemptID {
	return api.AttemptID{Job: int64(id.Job), Item: int(id.Item), Number: id.Number}
}

func (w *Watch) sign(lineage string, epoch, began, timeline int64) api.Term {
	t := api.Term{Farm: w.key.Public(), Lineage: lineage, Epoch: epoch, Began: began,
		Signature: w.key.Sign(api.TermMessage(lineage, epoch, began))}
	if timeline > 0 {
		t.Timeline, t.TimelineSignature = timeline, w.key.Sign(api.TimelineMessage(timeline, t.Signature))
	}
	return t
}

// Term is the own term, signed.
func (w *Watch) Term() *api.Term { return &w.term }

// Hear takes in what a worker reports. An error says that it gets no answer of this term, at least for now.
func (w *Watch) Hear(now time.Duration, s *api.Sync) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.round.hear(now, s, w.term.Lineage)
	delete(w.others, s.Host)
	w.foreign = ""
	if held := s.Held; held != nil {
		if err := w.compare(now, s.Host, held); err != nil {
			return err
		}
	} else if s.Epoch > w.term.Epoch {
		w.foreign = s.Host
	}
	return w.wait(now)
}

// compare looks at the term that a worker obeys. Only what this farm's key signed counts.
func (w *Watch) compare(now time.Duration, host string, held *api.AcceptedTerm) error {
	if held.Proves(w.term) {
		return nil
	}
	if held.Epoch < 0 || held.Epoch > maxEpoch || len(held.Lineage) > api.MaxLineage ||
		len(held.Superseded) > api.MaxSuperseded ||
		!held.Proves(w.sign(held.Lineage, held.Epoch, held.Began, held.Timeline)) {
		w.foreign = host
		return nil
	}
	heard := store.HigherTerm{Lineage: held.Lineage, Epoch: held.Epoch, Host: host, Timeline: held.Timeline}
	own := held.Lineage == w.term.Lineage
	if own && w.term.Timeline > 0 && held.Timeline > w.term.Timeline {
		// whatever the terms' numbers: the farm has moved on to a replica
		w.end = &End{heard, true}
		return ErrOtherDatabase
	}
	if !own && slices.Contains(held.Superseded, w.term.Lineage) {
		w.end = &End{heard, true}
		return ErrOtherDatabase
	}
	silent := max(0, time.Duration(held.SilentSeconds*float64(time.Second)))
	living := !own && silent < livingFor
	latest := slices.IndexFunc(w.past, func(p store.PastTerm) bool { return p.Epoch == held.Epoch })
	again := own && latest >= 0 && w.past[latest].Began.UnixMicro() != held.Began // its number was given again
	// Without a round, a living database elsewhere is none of this term's business.
	if (again || held.Epoch >= w.term.Epoch) && (!living || w.round != nil) {
		heard.Epoch = max(heard.Epoch, w.term.Epoch)
		w.end = &End{heard, false}
		return ErrTermEnds
	}
	if living {
		if len(w.others) < maxWatched {
			w.others[host] = otherDatabase{held.Lineage, now + livingFor - silent}
		}
		return ErrOtherDatabase
	}
	return nil
}

// wait refuses while the hosts are listened to, or one of them obeys another database that lives.
func (w *Watch) wait(now time.Duration) error {
	r := w.round
	if r == nil {
		return nil
	}
	if w.living(now) != "" {
		return ErrOtherDatabase
	}
	if r.opened == 0 {
		if len(r.unheard) > 0 && now-r.began < listenFor {
			return errListening
		}
		r.opened = now
	}
	return nil
}

// living names another database that a host obeys, "" if there is none.
func (w *Watch) living(now time.Duration) string {
	for _, other := range w.others {
		if now < other.until {
			return other.lineage
		}
	}
	return ""
}

// hear takes in what a host knows. Before it has come over from another lineage it obeys nothing that is said here.
func (r *round) hear(now time.Duration, s *api.Sync, lineage string) {
	if r == nil {
		return
	}
	delete(r.unheard, s.Host)
	delete(r.reported, s.Host)
	clear, away := true, s.Held != nil && s.Held.Lineage != lineage
	note := func(id api.AttemptID, there bool) {
		if there && r.live[id] == s.Host {
			r.reported[s.Host] = append(r.reported[s.Host], id)
		}
		if id.Job <= r.jobs+MostJobs {
			r.jobs = max(r.jobs, id.Job)
		}
		if id.Number <= MostTries {
			r.tries = max(r.tries, id.Number)
		}
	}
	for _, i := range s.Instances {
		ended := i.State == "idle" || i.State == "unloading" // and it is forgotten, unless the end is below
		note(i.Attempt, !ended)
		if !ended && r.live[i.Attempt] != s.Host {
			clear = false
		}
	}
	for _, f := range s.Finished {
		note(f.Attempt, true)
	}
	if !away && (r.opened > 0 || !r.moved) {
		r.came = true
	}
	switch _, known := r.unclear[s.Host]; {
	case away, !clear && !known: // its items are not ended before it obeys this database
		r.unclear[s.Host] = now
	case clear:
		delete(r.unclear, s.Host)
	}
}

// clear reports whether no host still runs an item that the rows do not have. It waits for each such host until the
// host's items have had time to end: since the first answer, or since the host first reported if that was later.
func (r *round) clear(now, grace time.Duration) bool {
	if now-r.opened >= clearAll {
		return true
	}
	for _, since := range r.unclear {
		if now-max(since, r.opened) < listenFor+grace+clearFor {
			return false
		}
	}
	return true
}

// Await announces a call of Numbers: nothing is settled before.
func (w *Watch) Await() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.round != nil {
		w.round.awaited++
	}
}

// Numbers takes in the highest numbers of job and attempt that something else than a worker knows.
func (w *Watch) Numbers(job int64, attempt int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.round != nil {
		w.round.awaited--
		w.round.jobs, w.round.tries = max(w.round.jobs, job), max(w.round.tries, attempt)
	}
}

// Settled says whether everybody has been listened to since a restore and nothing runs that the rows do not know, or
// has been waited for long enough; and the highest numbers of job and attempt that anybody knows.
func (w *Watch) Settled(now time.Duration) (job int64, attempt int, settled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.round
	if r == nil || w.wait(now) != nil {
		return 0, 0, false
	}
	heard := len(r.unheard) == 0 || now-r.began >= listenFor
	if r.moved && !r.came { // the other database's hosts may just not have come by
		return 0, 0, false
	}
	return r.jobs, r.tries, heard && r.clear(now, w.grace) && r.awaited <= 0
}

// Trim takes out of an answer what the host did not report: it may have ended long ago, and would run a second time
// under the same number; and the ends of what the rows do not know. Outside of a round nothing is taken out.
func (w *Watch) Trim(reply *api.SyncReply, s *api.Sync) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.round == nil {
		return
	}
	reply.Instances = slices.DeleteFunc(reply.Instances, func(d api.Desired) bool {
		_, known := w.round.live[d.Attempt]
		return !known || !slices.ContainsFunc(s.Instances, func(i api.SyncInstance) bool { return i.Attempt == d.Attempt }) &&
			!slices.ContainsFunc(s.Finished, func(f api.Finished) bool { return f.Attempt == d.Attempt })
	})
}

// Stops are what the rows call running and its host, when it last spoke, did not report, since they were put back. Such
// an attempt may have ended long ago: its number is not to be used for another run.
func (w *Watch) Stops() (stops []facts.Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.round == nil {
		return nil
	}
	for _, id := range w.round.runs {
		if !slices.Contains(w.round.reported[w.round.live[id]], id) {
			stops = append(stops, facts.StopAttempt{ID: facts.AttemptID{Job: facts.JobID(id.Job), Item: facts.ItemNo(id.Item),
				Number: id.Number}, Why: facts.Restored()})
		}
	}
	return stops
}

// End says that the term must end, nil if not.
func (w *Watch) End() *End {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end
}

// Why says why nothing is given out, "" if something is.
func (w *Watch) Why(now time.Duration) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	other := w.living(now)
	switch {
	case w.round == nil:
		return ""
	case other != "":
		return fmt.Sprintf(
			"hosts obey another database of this farm, lineage %s; this one, lineage %s, gives nothing out until that one has been silent for %s: stop its supervisors, or these",
			other, w.term.Lineage, livingFor)
	}
	return "the database was restored: nothing is given out until all known hosts have reported, or for some seconds"
}

// Remark says of a host that it obeyed another database when it last reported.
func (w *Watch) Remark(host string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if other, ok := w.others[host]; ok {
		return "obeys another database of this farm, lineage " + other.lineage
	}
	return ""
}

// Listens says whether workers should come and report, though nothing is given out: to a leader whose rows were put
// back or copied, unless a worker has just said that it obeys another database.
func (w *Watch) Listens(now time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.end == nil && w.round != nil && w.living(now) == ""
}

// Unverified returns a host whose last report named a higher or foreign term without proof.
func (w *Watch) Unverified() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.foreign
}
