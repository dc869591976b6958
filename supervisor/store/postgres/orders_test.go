package postgres

import (
	"slices"
	"testing"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

// TestEachOrderHasARow: each order that may take more than one commit can be written, and is taken up by the next term.
func TestEachOrderHasARow(t *testing.T) {
	leading := lead(t, emptyPostgres(t))
	writes := []facts.Write{facts.PutJob{Job: sampleJob(1)}}
	var given []facts.Action
	for n, action := range facts.Actions {
		if action.TakesItems() == nil {
			continue // it acts on whole jobs, at once
		}
		given = append(given, action)
		writes = append(writes, facts.PutAction{Fresh: true,
			Order: facts.ActionFacts{Job: 1, Number: int64(n + 1), Action: action, By: "ann", At: at(1),
				Items: []agenda.Span{{First: 0, Last: 3, Step: 1}}, Affected: 4}})
	}
	commit(t, leading, writes...)
	var taken []facts.Action
	for _, o := range load(t, leading).Jobs[0].Orders {
		taken = append(taken, o.Action)
	}
	if !slices.Equal(taken, given) {
		t.Errorf("of the orders %v the next term knows %v", given, taken)
	}
}
