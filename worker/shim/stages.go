package shim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"qb/api"
)

// Stage is a command that runs before or after the item's own, in its folder and with its environment and rights.
type Stage struct {
	Argv  []string `json:"argv"`
	Text  string   `json:"text"`            // for people
	Code  string   `json:"code"`            // of the end, if it fails
	First bool     `json:"first,omitempty"` // only until it has succeeded once in the instance

	Limit time.Duration `json:"limit,omitempty"` // for which it may run; 0: stageLimit
	// if not 0, the first word that is a file; its exit status is the number of the one at fault, from 1
	Files int    `json:"files,omitempty"`
	Fault string `json:"fault,omitempty"` // of a file
}

// FaultMissing is what is wrong with a file if the stage names nothing else: an agent before this one may have made it.
const FaultMissing = "is missing or too small"

// codeLogError is of an item that ended well, except for a line of its output.
const codeLogError = "log_error"

// stageLimit is how long a stage may run that has no limit of its own.
const stageLimit = 10 * time.Minute

func (stage *Stage) limit() time.Duration { return cmp.Or(stage.Limit, stageLimit) }

// stages is how far an item has come through its stages: those before, its command, those after.
type stages struct {
	at     int
	result *api.Finished // of the item's own command

	highlights, paths []string // found in its output

	cpu    float64 // of the stages that have ended
	peak   int64
	first  bool          // they have ended: what is reported at a start was reported
	late   bool          // the present one ran for its limit
	cancel *api.Finished // a stop came between two of them
}

// begin leaves out what the instance has behind it.
func (s *shim) begin(o *RunCommand) {
	if s.program != nil { // its job has one item for it after another
		o.Before = nil
	} else if s.readied {
		o.Before = slices.DeleteFunc(o.Before, func(stage Stage) bool { return stage.First })
	}
}

// stage is the present one; nil: the item's own command.
func (it *shimItem) stage() *Stage {
	before := len(it.order.Before)
	switch {
	case it.at < before:
		return &it.order.Before[it.at]
	case it.at == before:
		return nil
	}
	return &it.order.After[it.at-before-1]
}

// present is the order for what runs now.
func (it *shimItem) present() *RunCommand {
	stage := it.stage()
	if stage == nil {
		return it.order
	}
	o := *it.order
	o.Argv = stage.Argv
	if r := it.result; r != nil {
		status, code := "failed", 0
		if Done(*r) {
			status = "complete"
		}
		if r.ExitCode != nil {
			code = *r.ExitCode
		} else if r.Signal != nil {
			code = 128 + *r.Signal
		}
		o.Env = append(append([]string{}, o.Env...), "QB_FRAME_STATUS="+status, "QB_INSTANCE_STATUS="+status,
			"QB_SYSTEM_EXIT_CODE="+strconv.Itoa(code))
	}
	return &o
}

// Done says whether an attempt has ended well.
func Done(f api.Finished) bool { return f.Outcome == "exit" && f.ExitCode != nil && *f.ExitCode == 0 }

// watchStage ends a stage that takes too long.
func (s *shim) watchStage(it *shimItem, p *program) {
	if stage := it.stage(); stage != nil {
		s.whileIn(p, stage.limit(), func() {
			if !p.exited {
				it.late = true
				s.kill(p, killRepeat)
			}
		})
	}
}

// stageEnded goes on with the next stage, or ends the attempt.
func (s *shim) stageEnded(it *shimItem, p *program) {
	stage, f := it.stage(), p.verdict(it, &s.hostKills)
	it.cpu, it.peak = it.cpu+f.CPU, max(it.peak, f.PeakMemory)
	f.CPU, f.PeakMemory = it.cpu, it.peak
	more := it.at < len(it.order.Before)+len(it.order.After)
	if stage == nil {
		it.highlights, it.paths = it.log.seen.Highlights(), it.log.seen.OutputPaths()
	}
	if it.verdict == nil {
		s.tellLeft(it, p.left, &f)
	}
	switch {
	case it.verdict != nil: // what the program itself reported, and the figures of then
		s.finish(it, *it.verdict)
		return
	case it.stopped:
		more = false
	case stage == nil:
		it.judge(&f)
		it.result = &f
	case it.result == nil && !Done(f):
		f, more = stage.failure(f, it.late), false
	case it.result == nil:
		s.readied = s.readied || stage.First
	case Done(*it.result) && !Done(f):
		*it.result = stage.failure(f, it.late)
	}
	if it.result != nil && !it.stopped {
		r := *it.result
		r.Wall = f.Wall
		r.CPU = f.CPU
		r.PeakMemory = f.PeakMemory
		f = r
	}
	if it.cancel != nil && more {
		if it.result == nil {
			wall, cpu, peak := f.Wall, f.CPU, f.PeakMemory
			f = *it.cancel
			f.Wall = wall
			f.CPU = cpu
			f.PeakMemory = peak
		}
		more = false
	}
	if !more {
		s.finish(it, f)
		return
	}
	it.at = it.at + 1
	it.first = true
	it.late = false
	it.frozen = 0
	s.frozen = false
	s.maybeLaunch(it)
	s.sayUnstarted(it)
}

// judge takes from the output of the item's own command whether that is done.
func (it *shimItem) judge(f *api.Finished) {
	if line := it.log.seen.Failure(); line != "" && Done(*f) {
		f.Outcome = "launch"
		f.ExitCode = nil
		f.Code = codeLogError
		f.Reason = fmt.Sprintf("a line of the output matches regex_errors: %q", line)
	} else if it.cancel != nil && it.log.skipped && len(it.order.Errors) > 0 && Done(*f) { // it may not be done
		f.Outcome = it.cancel.Outcome
		f.ExitCode = nil
		f.Code = it.cancel.Code
		f.Reason = it.cancel.Reason
	}
}

// failure is the end of an attempt whose stage failed.
func (stage *Stage) failure(f api.Finished, late bool) api.Finished {
	how := f.Reason
	switch {
	case late && stage.Files > 0:
		return api.Finished{Outcome: "launch", Code: stage.Code,
			Reason: fmt.Sprintf("output file %s cannot be looked at: the file system did not answer for %s",
				brief(stage.Argv[stage.Files]), stage.limit())}
	case late:
		how = fmt.Sprintf("the check did not end within %s", stage.limit())
	case stage.Files > 0 && f.ExitCode != nil && *f.ExitCode > 0 && *f.ExitCode <= len(stage.Argv)-stage.Files:
		return api.Finished{Outcome: "launch", Code: stage.Code,
			Reason: fmt.Sprintf("output file %s %s", brief(stage.Argv[stage.Files+*f.ExitCode-1]),
				cmp.Or(stage.Fault, FaultMissing))}
	case f.ExitCode != nil:
		how = fmt.Sprintf("exit status %d", *f.ExitCode)
	case f.Signal != nil:
		how = fmt.Sprintf("signal %d", *f.Signal)
	}
	return api.Finished{Outcome: "launch", Code: stage.Code, Reason: stage.Text + ": " + how}
}
