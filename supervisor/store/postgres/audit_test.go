package postgres

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

// healthyFarm has every kind of row: job 1 complete (three items done, one by mark), job 2 active with a retried
// item and an item held ahead, job 3 killed with one attempt and a mark.
func healthyFarm(t *testing.T) string {
	url := emptied(t)
	p := openPostgres(t, url)
	job := func(id facts.JobID, version int64, state facts.JobState) facts.PutJob {
		return facts.PutJob{Job: changed(sampleJob(id), func(j *facts.JobFacts) {
			j.Agenda, j.Version, j.State = agenda.Spec{Range: "1-4"}, version, state
			if state.Final() {
				j.FinishedAt = at(9)
			}
		})}
	}
	term := lead(t, p)
	commit(t, term, job(1, 1, facts.Active), start(1, 0, 1), start(1, 1, 1), start(1, 2, 1),
		ended(1, 0, 1, facts.Done, facts.Never),
		ended(1, 1, 1, facts.Preempted, facts.ByItself), ended(1, 2, 1, facts.Done, facts.Never), start(1, 1, 2),
		ended(1, 1, 2, facts.Done, facts.Never),
		facts.ChangeMarks{Job: 1, Add: []facts.Mark{{First: 2, Last: 3, Step: 1, Kind: facts.MarkComplete}}},
		job(1, 2, facts.Complete),
		facts.AddEvent{Event: facts.EventFacts{At: at(9), Type: "job-complete", Job: 1, Item: -1, Instance: -1}})
	other := started(attemptID(2, 1, 1), at(1))
	other.Instance, other.Devices = 4, []int{1}
	ahead := other
	ahead.AttemptID = attemptID(2, 2, 1)
	ahead.BehindItem, ahead.BehindNumber = 1, 1
	commit(t, term, facts.PutHost{Host: facts.HostFacts{ID: "h1", Slots: 4}}, job(2, 1, facts.Active), start(2, 0, 1),
		ended(2, 0, 1, facts.Failed, facts.ByItself), start(2, 0, 2), facts.StartAttempt{Attempt: other}, facts.StartAttempt{Attempt: ahead})
	commit(t, term, job(3, 1, facts.Active), start(3, 0, 1), ended(3, 0, 1, facts.Killed, facts.Never),
		facts.ChangeMarks{Job: 3, Add: []facts.Mark{{First: 1, Last: 1, Step: 1, Kind: facts.MarkKilled},
			{First: 2, Last: 3, Step: 1, Kind: facts.MarkKilled}}}, job(3, 2, facts.KilledJob))
	return url
}

func TestAuditOfAHealthyFarm(t *testing.T) {
	report, err := Audit(ctx, healthyFarm(t))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(report)
	if want := `{"jobs":3,"items":12,"attempts":9,"problems":[]}`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	if _, err := Audit(ctx, strings.Replace(template, "/qb?", "/none?", 1)); err == nil {
		t.Error("audited a database that is not there")
	}
}

var damages = map[string]struct {
	sql       string
	kind      string
	job, item int
}{
	"an attempt removed":     {`DELETE FROM attempt WHERE job = 1 AND item = 1 AND number = 1`, ProblemGap, 1, 1},
	"a done attempt removed": {`DELETE FROM attempt WHERE job = 1 AND item = 0`, ProblemMissing, 1, 0},
	"a done attempt made failed": {`UPDATE attempt SET state = 'failed', reason = 'exit' WHERE job = 1 AND item = 0`,
		ProblemMissing, 1, 0},
	"a mark removed":               {`DELETE FROM item_mark WHERE job = 1`, ProblemMissing, 1, 3},
	"a killed job's mark removed":  {`DELETE FROM item_mark WHERE job = 3 AND first = 2`, ProblemMissing, 3, -1},
	"a killed job's attempt open":  {`UPDATE attempt SET again = 1 WHERE job = 3`, ProblemMissing, 3, -1},
	"an attempt beyond the agenda": {`UPDATE attempt SET item = 4 WHERE job = 2 AND item = 1`, ProblemOutside, 2, -1},
	"a mark beyond the agenda":     {`UPDATE item_mark SET last = 4 WHERE job = 3 AND first = 2`, ProblemOutside, 3, -1},
	"an agenda that is not one":    {`UPDATE job SET agenda = '{"range": "1-4x0"}' WHERE id = 2`, ProblemAgenda, 2, -1},
	"two live attempts": {`UPDATE attempt SET state = 'running', again = 0, ended_at = NULL WHERE job = 2 AND item = 0 AND number = 1`,
		ProblemTwice, 2, 0},
	"done twice": {`UPDATE attempt SET state = 'done', again = 0 WHERE job = 1 AND item = 1 AND number = 1`,
		ProblemTwice, 1, 1},
	"an attempt after a final one": {`UPDATE attempt SET again = 0 WHERE job = 2 AND number = 1 AND item = 0`,
		ProblemFollowed, 2, 0},
	"a live attempt with an end": {`UPDATE attempt SET ended_at = started_at WHERE job = 2 AND item = 1`,
		ProblemState, 2, 1},
	"an end without a time": {`UPDATE attempt SET ended_at = NULL WHERE job = 1 AND item = 0`, ProblemState, 1, 0},
	"done and to run again": {`UPDATE attempt SET again = 1 WHERE job = 1 AND item = 0`, ProblemState, 1, 0},
	"a state that is none":  {`UPDATE attempt SET state = 'lazy' WHERE job = 3`, ProblemState, 3, 0},
	"an end before the start": {`UPDATE attempt SET ended_at = started_at - interval '1 s' WHERE job = 1 AND item = 0`,
		ProblemTimes, 1, 0},
	"a job that ended too early": {`UPDATE job SET finished_at = submitted_at - interval '1 s' WHERE id = 1`,
		ProblemTimes, 1, -1},
	"an active job with an end": {`UPDATE job SET finished_at = submitted_at WHERE id = 2`, ProblemTimes, 2, -1},
	"a live attempt of a final job": {`UPDATE job SET state = 'killed', finished_at = now() WHERE id = 2`,
		ProblemLive, 2, 0},
	"attempts without their job": {`DELETE FROM job WHERE id = 2`, ProblemOrphan, 2, 0},
	"marks without their job":    {`DELETE FROM job WHERE id = 3`, ProblemOrphan, 3, 0},
	"marks that overlap":         {`UPDATE item_mark SET last = 2 WHERE job = 3 AND first = 1`, ProblemMarks, 3, 2},
	"an epoch that falls": {`UPDATE event SET epoch = epoch + 1 WHERE type = 'term'; UPDATE supervisor SET epoch = epoch + 1`,
		ProblemEpoch, 1, -1},
	"an epoch from the future":  {`UPDATE event SET epoch = epoch + 1 WHERE job = 1`, ProblemEpoch, 1, -1},
	"days of too many attempts": {anyDay, ProblemHistory, 0, -1},
	"a compacted job with attempts": {`UPDATE job SET compacted = 0, compacted_at = now() WHERE id = 1`,
		ProblemHistory, 1, 0},
	"attempts that no day has":   {`UPDATE removed SET attempts = 3`, ProblemHistory, 0, -1},
	"no row of what was removed": {`DELETE FROM removed`, ProblemHistory, 0, -1},
	"an instance held twice":     {`UPDATE attempt SET instance = 3 WHERE job = 2 AND item = 1`, ProblemHeld, 2, 1},
	"an instance held twice behind an attempt that is none": {`UPDATE attempt SET behind_number = 2 WHERE job = 2 AND item = 2`,
		ProblemHeld, 2, 2},
	"a device held twice": {`UPDATE attempt SET holds = '{"devices": [3]}' WHERE job = 2 AND item = 1`,
		ProblemHeld, 2, -1},
	"a host's row removed":  {`DELETE FROM host`, ProblemHeld, 2, 0},
	"slots that cannot be":  {`UPDATE attempt SET slots = -1 WHERE job = 2 AND item = 1`, ProblemHeld, 2, 1},
	"memory that cannot be": {`UPDATE attempt SET memory = -1 WHERE job = 2 AND item = 1`, ProblemHeld, 2, 1},
	"usage that nobody was charged": {`INSERT INTO payer (account, owner, id, cpu, ram, gpu, scratch, at) VALUES ('', 'ann', 1, 0, 0, 1, 0, now())`,
		ProblemUsage, 0, -1},
	"a charge that nobody used": {`UPDATE attempt SET charge_ram = 1, charged = true WHERE job = 1 AND item = 0`,
		ProblemUsage, 0, -1},
	"news of a payer without a row": {`INSERT INTO usage_news (payer, at) VALUES ('{7}', '{now}')`, ProblemUsage, 0, -1},
	"finds of an attempt that is not there": {`INSERT INTO attempt_found (job, item, number, highlights, outputpaths, result) VALUES (1, 1, 9, '{}', '{}', '')`,
		ProblemOrphan, 1, 1},
	"no supervisor row": {`DELETE FROM supervisor`, ProblemEpoch, 0, -1},
}

// Each kind of damage is named, with its place.
func TestAuditNamesDamage(t *testing.T) {
	url := healthyFarm(t)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for name, tc := range damages {
		t.Run(name, func(t *testing.T) {
			tx, err := conn.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(ctx)
			if _, err := tx.Exec(ctx, withoutConstraints+tc.sql); err != nil {
				t.Fatal(err)
			}
			report, err := audit(ctx, tx)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(report.Problems, func(p Problem) bool {
				item := -1
				if p.Item != nil {
					item = int(*p.Item)
				}
				return p.Kind == tc.kind && int(p.Job) == tc.job && item == tc.item && p.Text != ""
			}) {
				t.Errorf("not named; found %+v", report.Problems)
			}
		})
	}
}

const anyDay = `INSERT INTO usage_day (day, owner, account, cluster, host, kind, charged, attempts, wall, slot_seconds, cpu_seconds,
	memory_seconds, used_cpu, used_ram, used_gpu, used_scratch, left_cpu, left_ram, left_gpu, left_scratch)
	VALUES ('2026-11-21', 'ann', '', '/', 'h', 'primary', true, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`

// withoutConstraints drops what keeps such damage out.
const withoutConstraints = `
	ALTER TABLE attempt DROP CONSTRAINT attempt_state, DROP CONSTRAINT attempt_ended_exactly_if_not_live,
		DROP CONSTRAINT attempt_times, DROP CONSTRAINT attempt_result_only_of_an_end;
	ALTER TABLE job DROP CONSTRAINT job_finished_exactly_if_final;
	ALTER TABLE item_mark DROP CONSTRAINT item_mark_job_fkey;
	DROP INDEX attempt_one_stands;
`
