package explain

import (
	"fmt"
	"strings"

	"qb/supervisor/job/facts"
)

// maxWords is the most words of a reason. What has no place in it is among the facts.
const maxWords = 25

// answer is why a job waits, and what its sentence has no place for.
type answer struct {
	facts.Why
	also []string
}

// because begins an answer with the main cause.
func because(code facts.Reason, p facts.Params, text string) answer {
	short := text
	var also []string
	if words := strings.Fields(text); len(words) > maxWords {
		short, also = strings.Join(words[:maxWords-1], " ")+" …", []string{text}
	}
	return answer{facts.Why{Reason: code, Params: p, Cause: short}, also}
}

// and adds to the sentence, or if that is too long, a fact.
func (a answer) and(text string) answer {
	longer := a.hint(text)
	if longer.Cause == a.Cause && text != "" {
		longer.also = append(longer.also, text)
	}
	return longer
}

// hint adds to the sentence what is among the facts anyway, if there is room.
func (a answer) hint(text string) answer {
	if longer := a.Cause + "; " + text; text != "" && fits(longer) {
		a.Cause = longer
	}
	return a
}

// fits says whether the text is short enough for a reason.
func fits(text string) bool { return len(strings.Fields(text)) <= maxWords }

// listed joins what a job waits for, as far as there is room.
func listed(lead string, waits []string) string {
	text := lead + waits[0]
	for n, wait := range waits[1:] {
		rest := len(waits) - n - 2
		longer, more := text+" and for "+wait, ""
		if rest > 0 {
			more = fmt.Sprintf(" and for %s", facts.Several(rest, "more job"))
		}
		if !fits(longer + more) {
			text += fmt.Sprintf(" and for %s", facts.Several(rest+1, "more job"))
			break
		}
		text = longer
	}
	return text
}

// Ground is what a reason depends on besides the job that it is of.
type Ground int

// Grounds of reasons.
const (
	OwnGround   Ground = iota // nothing
	JobsGround                // the states of the jobs that it waits for
	HostsGround               // what all jobs and hosts are like
)

// Why is one sentence when items of the job wait or have failed, else empty.
func (x *Explainer) Why(j *Job) (facts.Why, Ground) {
	if own, found := ownAnswer(j, x.state); found {
		if len(j.WaitFor) > 0 {
			return own.Why, JobsGround
		}
		return own.Why, OwnGround
	}
	return x.waits(j).Why, HostsGround
}
