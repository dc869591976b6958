package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"qb/agenda"
	"qb/supervisor/facts"
	"qb/supervisor/store"
)

// Logs go when they are older than logs are kept, when their job goes, and those that ended first when their disk is
// short of room. Only attempts that have ended lose theirs: rows say which, and the number of an attempt is given once.

// remove deletes logs, then the folders that are left empty. Those that are not there do not count.
func (s *logStore) remove(ids []facts.AttemptID) (files int, err error) {
	for _, id := range ids {
		err := s.root.Remove(logName(id))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, fmt.Errorf("removing a log: %w", err)
		}
		if err == nil {
			files++
		}
		_ = s.root.Remove(moreName(id)) // rarely there
	}
	if len(ids) > 0 {
		s.prune(path.Dir(logName(ids[0])))
	}
	return files, nil
}

// removeSome deletes at most so many logs of a job that never runs again; fewer say that none is left.
func (s *logStore) removeSome(job facts.JobID, most int) (files int, err error) {
	folder := path.Dir(logName(facts.AttemptID{Job: job}))
	names, err := s.names(folder, most)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if err := s.root.Remove(path.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, fmt.Errorf("removing a log: %w", err)
		}
		files++
	}
	s.prune(folder)
	return files, nil
}

func (s *logStore) names(folder string, most int) ([]string, error) {
	f, err := s.root.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for logs: %w", err)
	}
	defer f.Close()
	names, err := f.Readdirnames(most)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("looking for logs: %w", err)
	}
	return names, nil
}

// prune takes a job's folder away, and its group's, if they are empty. The next log makes them again.
func (s *logStore) prune(folder string) {
	if s.root.Remove(folder) == nil {
		_ = s.root.Remove(path.Dir(folder)) // others may be in it
	}
}

// last is the number of the latest attempt of an item of which a log is here, 0 if there is none: of a job whose
// attempts have no rows any more.
func (s *logStore) last(job facts.JobID, item facts.ItemNo) (int, error) {
	folder, last := path.Dir(logName(facts.AttemptID{Job: job})), 0
	names, err := s.names(folder, -1)
	for _, name := range names {
		rest, ours := strings.CutPrefix(name, strconv.Itoa(int(item))+".")
		if n, err := strconv.Atoi(strings.TrimSuffix(rest, ".log")); ours && err == nil {
			last = max(last, n)
		}
	}
	return last, err
}

// diskRoom is what the folder's disk has free for this process, and in all, in bytes.
func diskRoom(folder string) (free, total int64, err error) {
	var at unix.Statfs_t
	if err := unix.Statfs(folder, &at); err != nil {
		return 0, 0, fmt.Errorf("asking for the room under %s: %w", folder, err)
	}
	return int64(at.Bavail) * at.Bsize, int64(at.Blocks) * at.Bsize, nil
}

// clearLogs removes what an ended job's attempts wrote, in small steps.
func (a *ager) clearLogs(ctx context.Context, w store.WithLogs) error {
	after := facts.AttemptID{Job: w.Job}
	for ctx.Err() == nil {
		began := time.Now()
		files, more := 0, false
		var err error
		if w.Compacted {
			files, err = a.logs.removeSome(w.Job, ageLogs)
			more = files == ageLogs
		} else {
			var ended []facts.AttemptID
			if ended, after, more, err = a.endedAfter(ctx, after); err == nil {
				files, err = a.logs.remove(ended)
			}
		}
		a.metrics.history.logs.Add(float64(files))
		if err != nil || !more {
			return err
		}
		a.rest(ctx, time.Since(began))
	}
	return ctx.Err()
}

// endedAfter is a page of a job's attempts, without those that live.
func (a *ager) endedAfter(ctx context.Context, after facts.AttemptID) (ended []facts.AttemptID, last facts.AttemptID, more bool, err error) {
	rows, err := a.store.Attempts(ctx, after.Job, after, ageLogs)
	if err != nil {
		return nil, after, false, fmt.Errorf("reading the attempts of job %d: %w", after.Job, err)
	}
	for _, row := range rows {
		if !row.State.Live() {
			ended = append(ended, row.AttemptID)
		}
		after = row.AttemptID
	}
	return ended, after, len(rows) == ageLogs, nil
}

// sweepLogs removes the logs of jobs that ended before a moment, as long as more are to go, and returns of how
// many; with an owner only his.
func (a *ager) sweepLogs(ctx context.Context, before time.Time, more func() bool, owner ...string) (swept int, err error) {
	for ctx.Err() == nil {
		jobs, err := a.store.WithLogs(ctx, before, ageSweep, owner...)
		if err != nil {
			return swept, fmt.Errorf("looking for logs to remove: %w", err)
		}
		began, gone := time.Now(), []facts.JobID{}
		for _, w := range jobs {
			if !more() {
				break
			}
			if err := a.clearLogs(ctx, w); err != nil {
				return swept, err
			}
			gone = append(gone, w.Job)
		}
		if len(gone) == 0 {
			return swept, nil
		}
		if err := a.store.LogsRemoved(ctx, a.epoch, gone, time.Now(), ""); err != nil {
			return swept, err
		}
		swept += len(gone)
		a.rest(ctx, time.Since(began))
	}
	return swept, ctx.Err()
}

// removeLogs removes what is older than logs are kept, then what must go for want of room.
func (a *ager) removeLogs(ctx context.Context) error {
	if keep := a.config().LogRetention.Std(); keep > 0 {
		before := time.Now().Add(-keep)
		jobs, err := a.sweepLogs(ctx, before, func() bool { return true })
		if jobs > 0 {
			a.log.Info("logs deleted", "jobs", jobs, "ended_before", before.UTC().Format(time.RFC3339))
		}
		if err != nil {
			return err
		}
	}
	return a.makeRoom(ctx)
}

// makeRoom removes logs, of the jobs first that ended first, until the least room is free again. The floor is never
// more than a quarter of the disk, so that a small one keeps logs too.
func (a *ager) makeRoom(ctx context.Context) error {
	free, total, err := a.room(a.logs.path)
	if err != nil {
		return err
	}
	a.metrics.history.free.Set(float64(free))
	floor := min(int64(a.config().LogMinFree), total/4)
	if free >= floor {
		return nil
	}
	had := free
	short := func() bool {
		if now, _, err := a.room(a.logs.path); err == nil {
			free = now
		}
		return free < floor
	}
	jobs, err := a.removeFlood(ctx, short)
	if err == nil && short() {
		var others int
		others, err = a.sweepLogs(ctx, time.Now().Add(-logGrace), short)
		jobs += others
	}
	_ = short() // what the last removal gave is in no look of the sweep
	a.metrics.history.free.Set(float64(free))
	if jobs > 0 {
		a.metrics.history.early.Add(float64(jobs))
		why := fmt.Sprintf("the disk of the logs had %s free, less than supervisor_log_min_free: those of the %d jobs that ended first were removed; now %s are free",
			agenda.FormatSize(had), jobs, agenda.FormatSize(free))
		err = errors.Join(err, a.store.LogsRemoved(ctx, a.epoch, []facts.JobID{}, time.Now(), why))
		a.log.Warn("logs deleted early", "reason", why)
		a.tell(streamEvent{topic: "farm", at: time.Now(), kind: "logs-removed", Why: facts.Why{Cause: why}, item: -1, inst: -1})
	}
	if err == nil && free < floor && time.Since(a.warned) > time.Hour {
		a.warned = time.Now()
		a.log.Warn("the log disk is almost full, and no logs of finished jobs are left to delete", "free", agenda.FormatSize(free),
			"under", a.logs.path, "supervisor_log_min_free", a.config().LogMinFree)
	}
	return err
}
