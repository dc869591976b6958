package supervisor

import (
	"testing"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/facts"
)

// BenchmarkJobOf makes a list of 10,000 jobs.
func BenchmarkJobOf(b *testing.B) {
	v := facts.JobView{JobFacts: facts.JobFacts{ID: 1, Name: "beauty", User: "ann", Priority: 5, CPUs: 2, MaxCPUs: ptr(4), Agenda: agenda.Spec{Range: "1-10"},
		Hosts: []string{"h1", "h2"}, Requirements: "host.memory > 4", Account: "show", Command: []string{"sleep", "1"}, Tags: facts.Tags{"heron", "", "010"}}}
	p := Principal{User: "ann", Role: api.Admin}
	list := make([]api.Job, 0, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		list = list[:0]
		for range 10_000 {
			list = append(list, api.Job{})
			showJob(&list[len(list)-1], &v, p)
		}
	}
}
