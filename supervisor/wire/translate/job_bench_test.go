package translate

import (
	"testing"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/job/facts"
)

// BenchmarkJobOf makes a list of 10,000 jobs.
func BenchmarkJobOf(b *testing.B) {
	four := 4
	v := facts.JobView{JobFacts: facts.JobFacts{ID: 1, Name: "beauty", User: "ann", Priority: 5, CPUs: 2, MaxCPUs: &four,
		Agenda: agenda.Spec{Range: "1-10"},
		Hosts:  []string{"h1", "h2"}, Requirements: "host.memory > 4", Account: "show", Command: []string{"sleep", "1"},
		Tags: facts.Tags{"heron", "", "010"}}}
	list := make([]api.Job, 0, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		list = list[:0]
		for range 10_000 {
			list = append(list, api.Job{})
			FillJob(&list[len(list)-1], &v, true)
		}
	}
}
