package worker

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"qb/api"
	"qb/worker/proc"
	"qb/worker/shim"
)

const endsShipFor = time.Minute

// shipEnds answers an audit that asks, once.
func (f *supervisorConn) shipEnds(audit string) {
	if audit == "" || f.audit.Swap(audit) == audit {
		return
	}
	f.wait.Go(func() {
		ctx, cancel := context.WithTimeout(f.a.ctx, endsShipFor)
		defer cancel()
		var failed error
		err := f.a.sendEnds(audit, func(page api.EndsPage) bool {
			var reply api.EndsReply
			failed = f.logs[f.at.Load()].Call(ctx, api.ShipEnds, nil, page, &reply)
			return failed == nil && reply.Wanted
		})
		if err = errors.Join(err, failed); err != nil && f.a.ctx.Err() == nil {
			f.a.log.Warn("an audit did not get all end records of this worker", "error", err)
		}
	})
}

// endsSender gathers pages and ships them.
type endsSender struct {
	page api.EndsPage
	ship func(api.EndsPage) bool // false: no more are wanted
	over bool
}

func (s *endsSender) add(line endLine) bool {
	switch {
	case line.End != nil:
		s.page.Records = append(s.page.Records, *line.End)
	case line.Clock != nil:
		if s.page.Since.IsZero() {
			s.page.Since = line.Clock.Time
		}
		s.page.Clocks = append(s.page.Clocks, *line.Clock)
	}
	if len(s.page.Records)+len(s.page.Clocks) >= endsPageSize {
		s.flush(false)
	}
	return !s.over
}

func (s *endsSender) flush(last bool) {
	if s.over {
		return
	}
	s.page.Last = last
	s.over = !s.ship(s.page) || last
	s.page.Records, s.page.Clocks = []api.EndRecord{}, []api.ClockCheck{}
}

// sendEnds reads all that this worker knows of the ends of a day and of what runs.
func (a *agent) sendEnds(audit string, ship func(api.EndsPage) bool) error {
	s := endsSender{ship: ship, page: api.EndsPage{Host: a.config.Name, StateID: a.state.id, Audit: audit,
		Records: []api.EndRecord{}, Clocks: []api.ClockCheck{}}}
	if err := a.ends.read(s.add); err != nil {
		return err
	}
	a.ends.mu.Lock()
	checked := a.ends.checked
	a.ends.mu.Unlock()
	if !checked.Time.IsZero() {
		s.add(endLine{Clock: &checked})
	}
	waiting, err := proc.Names(string(a.state.spool()))
	if err != nil {
		return err
	}
	for _, name := range waiting {
		var r shim.Spooled
		if _, ok := shim.AttemptOf(name); ok && shim.ReadSealed(filepath.Join(string(a.state.spool()), name), &r) == nil {
			s.add(endLine{End: endRecord(r)})
		}
	}
	running, err := a.state.running(a.boot)
	if err != nil {
		return err
	}
	for _, r := range running {
		s.add(endLine{End: &r})
	}
	s.flush(true)
	return nil
}

// endRecord is what is kept of a record for a day.
func endRecord(r shim.Spooled) *api.EndRecord {
	return &api.EndRecord{
		Attempt: r.Finished.Attempt, Boot: r.Boot, Started: r.Started.Seconds(), Ended: r.Ended.Seconds(),
		Frozen:  r.Frozen.Seconds(),
		Outcome: r.Finished.Outcome, ExitCode: r.Finished.ExitCode, Signal: r.Finished.Signal,
	}
}

// running are the items that run, as their shims have noted them.
func (s *stateFolder) running(boot string) (list []api.EndRecord, err error) {
	folder := filepath.Join(s.root, "i")
	names, err := proc.Names(folder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		now, err := readNow(filepath.Join(folder, name))
		if err != nil || now.Ended || now.Process.PID == 0 || !now.Process.Alive() {
			continue
		}
		list = append(list, api.EndRecord{
			Attempt: now.Attempt, Boot: boot, Started: now.StartedAt.Seconds(), Ended: shim.BootNow().Seconds(),
			Outcome: api.OutcomeRunning,
		})
	}
	return list, nil
}

// moveEnd takes an acknowledged record from the spool to the end log.
func (a *agent) moveEnd(id api.AttemptID) error {
	var r shim.Spooled
	path := a.state.spool().Path(id)
	if shim.ReadSealed(path, &r) == nil && r.Finished.Attempt == id {
		if err := a.ends.add(*endRecord(r)); err != nil {
			a.log.Warn("an end record cannot be kept for audits", "attempt", shim.AttemptName(id), "error", err)
		}
	}
	return a.state.spool().Drop(id)
}
