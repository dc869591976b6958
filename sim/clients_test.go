package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
)

// simClients are the people: they submit, change and kill, and repeat a call whose answer is lost with the
// same key, at another supervisor, until they hear a word.
type simClients struct {
	world *simWorld
	calls []*simCall
	jobs  []facts.JobID // that were acknowledged

	killed    map[simItemID]bool        // ordered to be killed, before anybody acted on it
	completed map[simItemID]bool        // the same of those marked complete
	reopened  map[facts.JobID]bool      // retry, requeue or redo was ordered
	freed     map[facts.JobID]bool      // unblock was ordered
	gave      map[string]bool           // orders, as "redo 7"
	asked     map[string]facts.JobID    // submissions, with the job they were answered, 0 before
	items     int                       // of all submissions
	previews  map[string]facts.JobFacts // submissions with preview items
	accounts  simAccounts
	profiles  simProfiles
	licences  simLicences
	chains    simChains
	limits    simBounds
	verbs     simVerbs
	locks     int // and unlocks, ordered so far
}

// simCall is one call, over all its repetitions.
type simCall struct {
	name string
	run  func(*simSupervisor, func(outbox.Reply, error))
	done func(outbox.Reply)
	over bool
	try  int

	lifts facts.JobID // that it lets go anywhere
}

// Exit codes of items that do not exit.
const (
	simCannotLaunch = -1
	simKillsShim    = -2
)

func newSimClients(w *simWorld) *simClients {
	return &simClients{world: w, killed: map[simItemID]bool{}, completed: map[simItemID]bool{}, reopened: map[facts.JobID]bool{}, freed: map[facts.JobID]bool{}, gave: map[string]bool{}, asked: map[string]facts.JobID{}, accounts: newSimAccounts(w), profiles: newSimProfiles(w), licences: newSimLicences(w), chains: newSimChains(w), limits: newSimBounds(w), verbs: newSimVerbs(w, simVerbsWorld(w.seed)), previews: map[string]facts.JobFacts{}}
}

// fate is how an attempt goes: how long, its exit code, and whether it ignores TERM.
func (c *simClients) fate(id api.AttemptID) (time.Duration, int, bool) {
	n := rand.New(rand.NewPCG(c.world.seed, uint64(id.Job)<<40|uint64(id.Item)<<20|uint64(id.Number))).Uint64()
	length := 200*time.Millisecond + time.Duration(n%6000)*time.Millisecond
	if n>>16%6 == 0 {
		length += 8*time.Second + time.Duration(n>>40%20000)*time.Millisecond
	}
	exit := 0
	switch n >> 24 % 40 {
	case 0, 1, 2, 3:
		exit = 1
	case 4:
		exit = simCannotLaunch
	}
	if c.world.killsShim(facts.AttemptID{Job: facts.JobID(id.Job), Item: facts.ItemNo(id.Item), Number: id.Number}) {
		length, exit = min(length, time.Second), simKillsShim
	}
	return length, exit, n>>32%8 == 0
}

// begin plans a life of calls.
func (c *simClients) begin() {
	w := c.world
	c.accounts.begin(w)
	c.profiles.begin(w)
	c.licences.begin(w)
	c.verbs.begin(w)
	for n := range 8 {
		at := w.between(0, w.faults.lasts*2/3)
		if n < 3 || w.faults.putBack != "" { // a backup is to know of all
			at = w.between(0, 3*time.Second)
		}
		w.after(at, func() { c.submit(n) })
	}
	for range 24 {
		if w.faults.putBack != "" {
			break // what people order after a backup is gone with it
		}
		w.after(w.between(5*time.Second, w.faults.lasts), c.someOrder)
	}
}

func (c *simClients) submit(n int) {
	w := c.world
	if c.accounts.on && c.accounts.added < len(simMembers) {
		w.after(100*time.Millisecond, func() { c.submit(n) })
		return
	}
	items := 2 + w.random.IntN(12)
	width := []int{-1, 0, 2, 5}[w.random.IntN(4)]
	given := facts.JobFacts{
		Name: fmt.Sprintf("j%d", n), User: fmt.Sprintf("u%d", w.random.IntN(3)), Submission: fmt.Sprintf("token%d", n), Command: []string{"true"},
		CPUs: 1 + w.random.IntN(3), MaxCPUs: &width, Priority: 1 + w.random.IntN(3), RetryWork: w.random.IntN(3), RetryDelay: []int{0, 0, 2, 15}[(w.seed/3+uint64(n))%4],
		Agenda: agenda.Spec{Range: fmt.Sprintf("1-%d", items)}, JobType: map[uint64]string{3: "loadonce"}[(w.seed+uint64(n))%5],
	}
	if (w.seed+uint64(n))%6 == 1 {
		given.StartAt = fmt.Sprintf("+%d", 1+n%20)
	}
	if (w.seed+uint64(n))%7 == 0 {
		given.Flags = []string{facts.FlagMigrate}
	}
	switch draw := w.random.IntN(100); {
	case draw < 12:
		given.Reservations = simGPU + "=1"
	case draw < 24:
		given.Reservations = simLicence + "=1"
	case draw < 30: // it is before the others, and no host will ever do
		given.Requirements, given.Priority = "host.name=nowhere", 1
	}
	if w.operatorGives(n) {
		given.OperatorPriority = given.Priority
	}
	if len(c.jobs) > 0 && w.chance(300) {
		end := simPick(w, []string{"complete", "done", "done", "failed", "killed"})
		given.Dependency = fmt.Sprintf("link-%s-job-%d", end, simPick(w, c.jobs))
	}
	c.accounts.choose(&given)
	c.profiles.choose(&given)
	c.chains.choose(w, &given, n, c.jobs)
	c.limits.choose(&given)
	rows := c.divided(&given, items)
	blocked := w.chance(100)
	again := func(s *simSupervisor, answer func(outbox.Reply, error)) {
		s.submitParts(rows, blocked, func(row facts.JobFacts, r outbox.Reply, err error) { c.checkSubmitted(row.Submission, r, err) }, answer)
	}
	c.call(&simCall{
		name: "submit " + given.Submission,
		run:  again,
		done: func(r outbox.Reply) {
			if c.chains.refused(w, &given, r) {
				delete(c.asked, given.Submission)
				c.items -= items
				return
			}
			if no := c.accounts.named[given.Submission] == simNoAccount; no && r.Err != nil {
				w.some("an account refused")
				delete(c.asked, given.Submission)
				c.items -= items
				return
			} else if r.Err != nil || no {
				w.fail("accounts: %s of %s names %q, refused: %v", given.Submission, given.User, given.Account, r.Err)
				return
			}
			c.submitted(given, rows)
			if w.chance(400) && w.faults.putBack == "" { // he does not believe it, and sends it once more
				w.after(w.between(0, w.faults.lasts), func() { c.call(&simCall{name: "submit again " + given.Submission, run: again}) })
			}
		},
	})
}

// checkSubmitted looks at every answer to a submission, also at the ones that no one hears: always the same
// job (S7), and never before its row is there.
func (c *simClients) checkSubmitted(token string, r outbox.Reply, err error) {
	if err != nil || r.Err != nil {
		return
	}
	reply := r.Body.(message.JobReply)
	id := reply.Job.ID
	if before := c.asked[token]; before != 0 && before != id {
		c.world.fail("S7: %s is answered with job %d, and with job %d before", token, id, before)
	} else if before == id && len(reply.Remarks) > 0 {
		c.world.some("duplicate submit answered with the old id")
	}
	c.asked[token] = id
	if row := c.world.rows.jobs[id]; row == nil || row.facts.Submission != token {
		c.world.fail("S5: %s is answered with job %d, which no row knows", token, id)
	}
}

var simActions = []facts.Action{facts.Kill, facts.Kill, facts.Retry, facts.Retry, facts.Requeue, facts.Redo, facts.Block, facts.Unblock, facts.Interrupt, facts.Preempt, facts.Shove, facts.Suspend, facts.Resume, facts.Top, facts.Bottom, facts.ToComplete, facts.ToFailed}

// someOrder is one of the things that people do to their jobs, and admins to hosts.
func (c *simClients) someOrder() {
	w := c.world
	switch {
	case w.calm || len(c.jobs) == 0:
	case w.chance(150):
		host := simPick(w, w.hosts)
		c.lock(host, w.chance(500))
	case w.chance(250):
		c.modify(simPick(w, c.jobs))
	default:
		c.orderItems(simPick(w, c.jobs), simPick(w, simActions))
	}
}

func (c *simClients) key() string { return fmt.Sprintf("key%d", len(c.calls)) }

func (c *simClients) modify(id facts.JobID) {
	w := c.world
	e := message.JobModified{Job: id, By: "op"}
	number := func(name string, from ...int) { e.Change.Set(name, simPick(w, from)) }
	switch w.random.IntN(4) {
	case 0:
		number("cpus", 1, 2, 4)
	case 1:
		number("max_cpus", -1, 0, 1, 3, 6)
	case 2:
		number("priority", 1, 2, 3, 4)
		e.Operator = w.operatorGives(len(c.calls))
	default:
		number("cpus", 1, 3)
		number("max_cpus", -1, 0, 4)
		number("retrywork", 0, 1, 3)
	}
	e.IfVersion = w.keys.version(w, id)
	c.change(id, e)
}

func (c *simClients) change(id facts.JobID, e message.JobModified) {
	w, key := c.world, c.key()
	c.call(&simCall{name: fmt.Sprintf("modify %d", id), run: func(s *simSupervisor, answer func(outbox.Reply, error)) { s.modify(key, e, answer) },
		done: func(r outbox.Reply) {
			w.keys.checkVersion(w, e.IfVersion, id, r)
			if r.Err == nil && w.rows.jobs[id].facts.Version < r.Body.(message.JobReply).Job.Version {
				w.fail("S5: a change of job %d is acknowledged as version %d and not in its row", id, r.Body.(message.JobReply).Job.Version)
			}
		}})
}

func (c *simClients) orderItems(id facts.JobID, action facts.Action) {
	w := c.world
	total := w.rows.jobs[id].items
	e := message.JobAction{Job: id, Action: action, By: "op", Everybody: w.chance(500)}
	if w.chance(500) {
		var items []int
		for n := range total {
			if w.chance(300) {
				items = append(items, n)
			}
		}
		if len(items) > 0 {
			e.Items = agenda.SpansOf(items)
		}
	}
	c.vary(&e)
	c.order(e, total)
	if e.Action == facts.Suspend && w.policy.ReleaseSlots {
		c.wakeLater(e, total)
	}
	if w.policy.OrderRows == 1 && len(c.calls)%2 == 0 { // people who change their mind at once
		c.order(message.JobAction{Job: id, Action: simPick(w, []facts.Action{facts.Kill, facts.Retry, facts.Interrupt, facts.ToComplete, facts.ToFailed}), By: "op"}, total)
	}
}

// vary makes some orders others of the same kind, or of one instance or what is in a state. It draws nothing, so that
// it changes no other draw.
func (c *simClients) vary(e *message.JobAction) {
	n := int(c.world.seed%97) + len(c.calls)
	switch {
	case n%2 == 0 && c.world.policy.ReleaseSlots && slices.Contains([]facts.Action{facts.Top, facts.Bottom, facts.Shove, facts.Block, facts.Unblock, facts.Retry}, e.Action):
		e.Action = facts.Suspend
	case n%3 == 0 && e.Action == facts.Preempt:
		e.Action = facts.Retire
	case n%3 == 0 && e.Action == facts.Interrupt:
		e.Action = facts.Migrate
	}
	takes := e.Action.TakesInstances()
	switch {
	case takes == nil || e.Items != nil:
	case n%4 == 0:
		e.Choice.Instances = []agenda.Span{{First: n % 3, Last: n % 3, Step: 1}}
		c.world.some("an order on one instance")
	case n%4 == 1:
		e.Choice.InstanceStates = takes
		c.world.some("an order on instances in a state")
	case n%4 == 2 && e.Action.TakesItems() != nil:
		e.Choice.States = e.Action.TakesItems()[:1]
		c.world.some("an order on items in a state")
	}
}

// checkChosen: an order on one instance is for what that one runs, and one on several for no more (S17).
func (c *simClients) checkChosen(e message.JobAction, r outbox.Reply) {
	if e.Choice.Instances == nil || r.Err != nil {
		return
	}
	if affected := r.Body.(message.ActionReply).Affected; affected > e.Choice.Instances[0].Len() {
		c.world.fail("S17: %s of instances %v of job %d affected %d items", e.Action, e.Choice.Instances, e.Job, affected)
	} else if affected == 1 {
		c.world.some("an order hit one instance")
	}
}

func (c *simClients) order(e message.JobAction, total int) *simCall {
	c.noteOrder(e, total)
	key := c.key()
	call := &simCall{name: fmt.Sprintf("%s %d %v %v", e.Action, e.Job, e.Items, e.Choice),
		run: func(s *simSupervisor, answer func(outbox.Reply, error)) { s.order(key, e, answer) }}
	if call.done = func(r outbox.Reply) { c.checkOrder(e, r); c.undo(e, r) }; slices.Contains(simLifts, e.Action) {
		call.lifts = e.Job
	}
	c.call(call)
	return call
}

// noteOrder remembers what an order may bring about.
func (c *simClients) noteOrder(e message.JobAction, total int) {
	c.gave[fmt.Sprintf("%s %d", e.Action, e.Job)] = true
	switch e.Action {
	case facts.Kill, facts.ToComplete, facts.Retire:
		c.reopened[e.Job] = c.reopened[e.Job] || e.Action == facts.ToComplete
		marked := map[facts.Action]map[simItemID]bool{facts.Kill: c.killed, facts.ToComplete: c.completed, facts.Retire: c.completed}[e.Action]
		for n := range total {
			if e.Items == nil {
				marked[simItemID{e.Job, facts.ItemNo(n)}] = true
			}
		}
		for _, s := range e.Items {
			for n := s.First; n <= s.Last; n += s.Step {
				marked[simItemID{e.Job, facts.ItemNo(n)}] = true
			}
		}
	case facts.Retry, facts.Requeue, facts.Redo:
		c.reopened[e.Job] = true
	case facts.Unblock:
		c.freed[e.Job] = true
	}
}

// checkOrder holds the answer to an order against what is promised of it.
func (c *simClients) checkOrder(e message.JobAction, r outbox.Reply) {
	c.checkChosen(e, r)
	c.checkItems(e, r)
	c.checkMoved(e, r)
	if slices.Contains(simLifts, e.Action) {
		c.verbs.lifted[e.Job] = c.world.now
	}
}

func (c *simClients) lock(h *simHost, lock bool) {
	e := message.HostLocked{Host: facts.HostID(h.worker), Lock: lock, By: "admin", Reason: "test"}
	if c.locks++; lock { // no draw, so that it changes no other
		e.Slots, e.Purge = c.locks%(h.slots+1), c.locks%3 == 0
	}
	asked, locks := c.world.now, c.locks
	c.call(&simCall{name: fmt.Sprintf("lock %s %v", h.name, lock), run: func(s *simSupervisor, answer func(outbox.Reply, error)) {
		s.host(func(t outbox.Ticket) message.Event { e.Ticket = t; return e }, answer)
	}, done: func(r outbox.Reply) { c.checkPurged(e, asked, locks, r) }})
}

// confirmDead is an operator's confirmation that nothing runs on a machine, which has no power.
func (c *simClients) confirmDead(h *simHost) {
	e := message.HostConfirmedDead{Host: facts.HostID(h.worker), By: "admin"}
	c.call(&simCall{name: "confirm-dead " + h.name, run: func(s *simSupervisor, answer func(outbox.Reply, error)) {
		if (h.on && !c.world.empty(h)) || h.twinsOn() { // the human looked again before repeating himself
			answer(outbox.Reply{Err: &outbox.Refusal{Kind: "conflict", Text: "it is back"}}, nil)
			return
		}
		s.host(func(t outbox.Ticket) message.Event { e.Ticket = t; return e }, answer)
	}, done: func(r outbox.Reply) {
		if r.Err == nil {
			c.world.some("a dead host confirmed by hand")
		}
	}})
}

func (c *simClients) call(call *simCall) {
	c.calls = append(c.calls, call)
	c.repeat(call)
}

// repeat makes a call, and makes it again when no word comes in time or the word is that none will come.
func (c *simClients) repeat(call *simCall) {
	if call.over {
		return
	}
	w := c.world
	call.try++
	try := call.try
	s := w.supervisors[w.random.IntN(len(w.supervisors))]
	w.note("client asks %s: %s", s.name, call.name)
	back := func(r outbox.Reply, err error) {
		w.network.send(s.name, "c", func() {
			switch {
			case call.over || (err != nil && call.try != try):
			case err != nil:
				call.try++
				w.after(w.between(100*time.Millisecond, time.Second), func() { c.repeat(call) })
			default:
				call.over = true
				w.note("client is answered: %s", call.name)
				if call.done != nil {
					call.done(r)
				}
			}
		})
	}
	w.network.send("c", s.name, func() {
		s.serve(func() { call.run(s, back) }, func() { back(outbox.Reply{}, errSimClosed) })
	})
	w.after(w.between(3*time.Second, 12*time.Second), func() {
		if call.try == try {
			c.repeat(call)
		}
	})
}

// open are the calls that still wait for a word.
func (c *simClients) open() (names []string) {
	for _, call := range c.calls {
		if !call.over {
			names = append(names, call.name)
		}
	}
	return names
}
