package postgres

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/store"
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
		if err != nil || len(batch.jobs) != 1000 {
			b.Fatal(err)
		}
	}
}

// BenchmarkJobFilters is a page of 200 of 100,000 jobs, of which 1,000 have not ended, by each filter. With QB_EXPLAIN
// set it prints the plans.
func BenchmarkJobFilters(b *testing.B) {
	const jobs, page = 100_000, 200
	p := openPostgres(b, emptied(b))
	leading := lead(b, p)
	for id := facts.JobID(1); id <= jobs; {
		var writes []facts.Write
		for range 2000 {
			writes = append(writes, facts.PutJob{Job: changed(largeJob(id), func(j *facts.JobFacts) {
				j.Submission, j.Command, j.Env = fmt.Sprint(id), []string{"render", "scene"}, map[string]string{"A": "x"}
				j.User, j.Name, j.Cluster = fmt.Sprint("u", id%100), fmt.Sprint("shot", id%5000),
					fmt.Sprintf("/film%d/seq%d", id%7, id%300)
				if id%10 == 0 {
					j.Tags, _ = facts.TagsOf(map[string]string{"prod_show": fmt.Sprint("show", id%1000)})
				}
				if id%100 != 0 {
					j.State, j.FinishedAt = facts.Complete, at(float64(id))
				}
			})}, facts.NoteChange{Jobs: []facts.JobID{id}, At: at(float64(id))})
			id++
		}
		commit(b, leading, writes...)
	}
	exec(b, p, "ANALYZE job, job_change")
	tags, _ := facts.TagsOf(map[string]string{"prod_show": "show10"})
	known := func(row facts.JobFacts) (facts.JobView, bool) { return facts.JobView{JobFacts: row}, true }
	for name, q := range map[string]store.JobQuery{
		"none": {}, "user": {User: "u7"}, "name": {Name: "shot77"}, "no such name": {Name: "none"},
		"cluster": {Cluster: "/film3"}, "small cluster": {Cluster: "/film3/seq3"},
		"tags": {Tags: tags}, "changed": {ChangedSince: at(jobs - 500)}, "not ended": {FinishedSince: at(2 * jobs)},
		"ended lately":    {FinishedSince: at(jobs - 500)},
		"user, not ended": {User: "u0", FinishedSince: at(2 * jobs)}, "name and user": {Name: "shot77", User: "u77"},
		"active": {States: []facts.JobState{facts.Active}},
	} {
		q.Brief, q.Known, q.Limit = true, known, page
		for kind, columns := range map[string]string{"page": jobColumnsOf(q), "total": "id, state"} {
			q.Limit = page
			if kind == "total" {
				q.Limit = 0
			}
			b.Run(name+"/"+kind, func(b *testing.B) {
				if os.Getenv("QB_EXPLAIN") != "" {
					sql, args := selectJobs(columns, q)
					rows := must(p.pool.Query(ctx, "EXPLAIN (ANALYZE, COSTS OFF) "+sql, args...))(b)
					b.Log(strings.Join(must(pgx.CollectRows(rows, pgx.RowTo[string]))(b), "\n"))
				}
				for b.Loop() {
					if kind == "page" {
						must(p.Jobs(ctx, q))(b)
					} else {
						must(p.JobRefs(ctx, q))(b)
					}
				}
			})
		}
	}
}
