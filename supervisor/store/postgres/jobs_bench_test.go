package postgres

import (
	"fmt"
	"os"
	"testing"

	"qb/supervisor/facts"
)

// BenchmarkLoadJobs is a takeover with 200,000 unfinished jobs of which nothing has run.
func BenchmarkLoadJobs(b *testing.B) {
	const jobs = 200_000
	leading := lead(b, openPostgres(b, emptied(b)))
	for id := facts.JobID(1); id <= jobs; {
		var writes []facts.Write
		for range 2000 {
			writes = append(writes, facts.PutJob{Job: changed(largeJob(id), func(j *facts.JobFacts) {
				j.Submission, j.Command, j.Env = fmt.Sprint(id), []string{"render", "scene"}, map[string]string{"A": "x"}
			})})
			id++
		}
		commit(b, leading, writes...)
	}
	mine := cpuSeconds(b, os.Getpid())
	b.ReportAllocs()
	for b.Loop() {
		if rows := load(b, leading); len(rows.Jobs) != jobs {
			b.Fatalf("%d jobs", len(rows.Jobs))
		}
	}
	b.ReportMetric((cpuSeconds(b, os.Getpid())-mine)*1000/float64(b.N), "cpu-ms/op")
}

// BenchmarkPutJobs is a commit of 1,000 new jobs without the database.
func BenchmarkPutJobs(b *testing.B) {
	var writes []facts.Write
	for id := range facts.JobID(1000) {
		writes = append(writes, facts.PutJob{Job: largeJob(id + 1)})
	}
	b.ReportAllocs()
	for b.Loop() {
		batch, err := sortWrites(writes)
		if err != nil || len(batch.newJobs) != 1000 {
			b.Fatal(err)
		}
	}
}
