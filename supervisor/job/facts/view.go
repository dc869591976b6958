package facts

import "time"

// JobView is a job with its derived numbers.
type JobView struct {
	JobFacts
	Status                       string // pending, blocked, running, suspended, complete, failed, killed
	Reason                       string // why items wait or have failed, for people; "": neither
	Code                         Reason // the same for programs
	Params                       Params // of the code
	Progress                     int    // per cent, where running items report theirs; else 0
	MaxCPUsEffective             int
	Primary, Secondary, Draining int
	Items                        ItemCounts
	FailedAttempts               int       // at any item, also at the ones that were tried again
	StartedAt                    time.Time // zero before the first attempt
	MeanItemSeconds              float64   // 0 before the first complete item
	EstimatedItemSeconds         float64   // what the next item is taken to run; 0: nothing is known, or none is to come
	Memory                       JobMemory
	Learned                      Estimate      // of the job's profile, as far as the job goes by it
	Orders                       []ActionFacts // under way or waiting, in the order in which they are carried out
	Carried                      []ActionFacts // the last that were, in this term
}

// Wait says why items of the job wait or have failed.
func (v *JobView) Wait(why Why) { v.Reason, v.Code, v.Params = why.Cause, why.Reason, why.Params }

// ItemCounts add up to Total.
type ItemCounts struct {
	Total, Pending, Running, Complete, Failed, Killed, Blocked int
}

// JobMemory is in bytes; 0 is unknown, or not said.
type JobMemory struct {
	Requested, Need, LargestPeak int64
	Returned                     int // complete items whose peaks count
	RanOut                       int // items that ran out of memory and are not complete
}

// PastMemory is what the rows of a job tell of its memory when the farm no longer holds it. Bytes.
type PastMemory struct {
	Returned int   // complete items with a peak
	Peak     int64 // of those the quantile that the policy asks for, or the largest
	Largest  int64 // peak of any ended attempt
	RanOut   int   // items whose last attempt ran out of memory
	Out      int64 // the most that was not enough for one of those
}

// And joins what two parts of the rows tell.
func (m PastMemory) And(o PastMemory) PastMemory {
	return PastMemory{m.Returned + o.Returned, max(m.Peak, o.Peak), max(m.Largest, o.Largest), m.RanOut + o.RanOut,
		max(m.Out, o.Out)}
}
