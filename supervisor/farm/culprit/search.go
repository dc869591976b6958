// Package culprit finds the one job on which plans break, by plans of a part of the jobs. It makes no plan: it says
// which jobs the next try is of, and hears how that went.
//
//	all ─▶ none ─▶ half, half … ─▶ the job alone ─▶ all but the job
//
// With n jobs it takes at most log2(n) + 5 tries. A job is to blame if plans break with it alone, or do not break
// without it.
package culprit

import (
	"fmt"
	"strings"

	"qb/supervisor/job/facts"
)

// Search looks for one job.
type Search struct {
	jobs          []facts.JobID
	works, breaks int // with so many of the jobs a plan works; with so many it breaks
	stage         stage
}

type stage int

const (
	all stage = iota
	none
	half
	alone
	others
)

// Verdict is what a search has found, if it is over.
type Verdict struct {
	Over bool
	Job  facts.JobID // that is to blame; 0: none
	Why  string      // none is; "": all jobs together work now
}

// New begins a search among jobs, ascending by id, with all of which a plan broke.
func New(jobs []facts.JobID) *Search { return &Search{jobs: jobs, breaks: len(jobs)} }

// Within says whether a job belongs to the next try.
func (s *Search) Within(job facts.JobID) bool {
	switch s.stage {
	case none:
		return false
	case half:
		return job <= s.jobs[s.middle()-1]
	case alone:
		return job == s.suspect()
	case others:
		return job != s.suspect()
	}
	return true
}

func (s *Search) middle() int { return s.works + (s.breaks-s.works)/2 }

// suspect is the job that makes the difference, once that is known.
func (s *Search) suspect() facts.JobID { return s.jobs[s.breaks-1] }

// Tried goes on with what the try has shown.
func (s *Search) Tried(broke bool) Verdict {
	switch {
	case s.stage == all && !broke:
		return Verdict{Over: true}
	case s.stage == all:
		s.stage = none
		return Verdict{}
	case s.stage == none && (broke || len(s.jobs) == 0):
		return Verdict{Over: true, Why: "a plan without any job fails, too"}
	case s.stage == alone && broke, s.stage == others && !broke:
		return Verdict{Over: true, Job: s.suspect()}
	case s.stage == others:
		return Verdict{Over: true, Why: fmt.Sprintf("a plan with job %d fails, and one without it, too", s.suspect())}
	case s.stage == alone:
		s.stage = others
		return Verdict{}
	case s.stage == half && broke:
		s.breaks = s.middle()
	case s.stage == half:
		s.works = s.middle()
	}
	if s.stage = half; s.breaks-s.works == 1 {
		s.stage = alone
	}
	return Verdict{}
}

// maxText bounds what is shown of what a panic says, in bytes.
const maxText = 300

// Text is the first line of what a panic says, shortened.
func Text(thrown any) string {
	text, _, _ := strings.Cut(strings.ToValidUTF8(fmt.Sprint(thrown), "?"), "\n")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}
