package sim

import (
	"fmt"
	"math/rand/v2"

	"qb/agenda"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// simQuestions are what people ask a farm between two events: what a plan would do, what if, and why. They change
// nothing.
type simQuestions struct{ random *rand.Rand }

func newSimQuestions(w *simWorld) simQuestions {
	return simQuestions{rand.New(rand.NewPCG(w.seed, 0xa5c))}
}

// ask asks one thing, in one turn of twenty.
func (q *simQuestions) ask(t *simTerm) {
	if q.random.IntN(20) > 0 {
		return
	}
	jobs, now := t.supervisor.world.clients.jobs, t.now()
	if len(jobs) == 0 {
		return
	}
	id := jobs[q.random.IntN(len(jobs))]
	user := fmt.Sprintf("u%d", q.random.IntN(4))
	asked := message.JobSubmitted{By: user, Facts: facts.JobFacts{
		Name: "asked", User: user, Command: []string{"true"}, CPUs: 1 + q.random.IntN(3), Priority: 1 + q.random.IntN(3), Agenda: agenda.Spec{Range: "1-9"},
	}}
	switch q.random.IntN(4) {
	case 0:
		t.farm.Snapshot(now)
	case 1:
		t.farm.SnapshotWith(now, []message.JobSubmitted{asked})
	case 2:
		t.farm.Explain(now, id)
	case 3:
		t.farm.ExplainSubmission(now, asked)
	}
}
