package term

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/termwatch"
	"qb/supervisor/store"
)

// Ends of terms that have to do with a restore: the next one follows at once.
var (
	errPutBack    = errors.New("the rows are older than what a host has proof of")
	errSettled    = errors.New("everybody was listened to after the restore")
	errSuperseded = errors.New("hosts obey a copy of this database, or a promoted replica of its server")
)

// yield ends the term for what a worker had proof of.
func (k *committer) yield(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, store.TrustFor)
	defer cancel()
	end := k.loop.Watch.End()
	if end.Superseded {
		return errors.Join(errSuperseded, k.term.Supersede(ctx, end.Heard))
	}
	return errors.Join(fmt.Errorf("%w: host %s, term %d of lineage %s", errPutBack, end.Heard.Host, end.Heard.Epoch,
		end.Heard.Lineage),
		k.term.Succeed(ctx, end.Heard))
}

// finishRestore ends the term, which gave nothing out, once everybody was listened to after a restore: the next one
// works.
func (k *committer) finishRestore(ctx context.Context) error {
	job, attempt, settled := k.loop.Watch.Settled(SinceBoot())
	if !settled || k.full {
		return nil
	}
	for some := range slices.Chunk(k.loop.Watch.Stops(), settleStops) {
		if err := k.commit(ctx, outbox.Batch{Writes: some}); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, store.TrustFor)
	defer cancel()
	// A part by chance, so that two databases that both go on from the same rows hardly give the same numbers.
	job, attempt = job+rand.Int64N(chanceJobs), attempt+rand.IntN(chanceTries)
	return errors.Join(errSettled, k.term.Settle(ctx, facts.JobID(job), attempt))
}

// atOnce says whether the next term follows without a pause.
func (t *Leader) atOnce(err error) bool {
	if errors.Is(err, store.ErrTermOver) { // the change was not made
		return false
	}
	switch {
	case errors.Is(err, errRoom), errors.Is(err, errSettled):
		return true
	case errors.Is(err, errPutBack):
		t.announce("restored", err.Error())
		return true
	case errors.Is(err, errSuperseded):
		t.announce("superseded", err.Error())
	}
	return false
}

// readNumbers looks which jobs and attempts the log folder knows. What cannot be read holds nothing up.
func (t *Leader) readNumbers(w *termwatch.Watch) {
	job, attempt, err := t.Numbers()
	if err != nil {
		t.Log.Warn("cannot read the log folder to find the highest numbers of jobs and attempts", "error", err)
	}
	w.Numbers(job, attempt)
}
