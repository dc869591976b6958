package facts

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"qb/agenda"
)

// Link is one condition on another job.
type Link struct {
	End   string `json:"end"`             // complete, done, failed or killed
	Job   JobID  `json:"job"`             // 0: no job of the group has the label yet
	Of    LinkOf `json:"of,omitempty"`    // what of the job has to end
	Label string `json:"label,omitempty"` // of the job within the process group, if it was named by that
	// of OfItems: these; empty: each item waits for items that hold its numbers and labels
	Items string `json:"items,omitempty"`
	// Among is the last job of a submission that became several, if the link is on how all of these end together; 0:
	// this job has to end so.
	Among JobID    `json:"among,omitempty"`
	Was   JobState `json:"was,omitempty"` // with Among: how this job ended last; it may be in memory no more
}

// LinkOf says what of a job has to end.
type LinkOf string

// What a link can wait for. Instances become jobs or items as soon as the job is known: see model.
const (
	OfJob       LinkOf = ""
	OfItems     LinkOf = "work"
	OfInstances LinkOf = "subjob"
)

// MaxLinks is the most conditions of a job.
const MaxLinks = 1000

// LinkForms tells how a dependency is written.
const LinkForms = "write 900, link-complete-job-900, link-done-work-beauty (complete, done, failed or killed; job, work or subjob; a job's number or its label), joined by commas"

var linkEnds = []string{"complete", "done", "failed", "killed"}

// ParseDependency reads 900, 900,901, link-complete-job-900, link-done-work-beauty, link-complete-work-900:7.
func ParseDependency(text string) ([]Link, error) {
	var links []Link
	column := 1
	for _, part := range strings.Split(text, ",") {
		word := strings.TrimSpace(part)
		l, err := parseLink(word)
		switch n := len(links); {
		case word == "":
			err = errors.New("an entry is empty; remove the comma")
		case n > 0 && links[n-1].Items != "" && !strings.HasPrefix(word, "link-"):
			err = ambiguous(word, links[n-1])
		}
		if err != nil {
			return nil, fmt.Errorf("dependency, column %d: %w", column+len(part)-len(strings.TrimLeft(part, " \t")), err)
		}
		links = append(links, l)
		column += len(part) + 1
	}
	return links, nil
}

// ambiguous refuses what is behind a link on items: it could be another item, and it could be a job.
func ambiguous(part string, before Link) error {
	kind, sign := "work", ":"
	if before.Of == OfInstances {
		kind, sign = "subjob", "."
	}
	target := before.Label
	if before.Job != 0 {
		target = fmt.Sprint(before.Job)
	}
	link := fmt.Sprintf("link-%s-%s-%s%s", before.End, kind, target, sign)
	return fmt.Errorf("%q behind %s%s may be of that job or a job itself; write %s%s,%s%s for the first, link-%s-job-%s for the second",
		part, link, before.Items, link, before.Items, link, part, before.End, part)
}

func parseLink(part string) (l Link, err error) {
	rest, long := strings.CutPrefix(part, "link-")
	if !long {
		if l = (Link{End: "complete", Job: jobNumber(part)}); l.Job == 0 {
			return l, fmt.Errorf("%q is not a job's number; %s", part, LinkForms)
		}
		return l, nil
	}
	fields := strings.SplitN(rest, "-", 3)
	if len(fields) != 3 || fields[2] == "" {
		return l, fmt.Errorf("%q is not understood; %s", part, LinkForms)
	}
	if !slices.Contains(linkEnds, fields[0]) {
		return l, fmt.Errorf("%q: a job ends complete, failed or killed (done: any of them), not %q", part, fields[0])
	}
	l.End = fields[0]
	target := fields[2]
	switch fields[1] {
	case "job":
	case "work":
		l.Of = OfItems
		if at := strings.LastIndexByte(target, ':'); at >= 0 {
			target, l.Items = target[:at], target[at+1:]
			if l.Items == "" || target == "" {
				return l, fmt.Errorf("%q names no item; write link-complete-work-900:7, or leave the colon out", part)
			}
		}
	case "subjob":
		l.Of = OfInstances
		if id, number, dotted := strings.Cut(target, "."); dotted && jobNumber(id) > 0 {
			if n, err := strconv.Atoi(number); err != nil || n < 0 || strconv.Itoa(n) != number {
				return l, fmt.Errorf("%q: %q is not the number of an instance; write link-complete-subjob-900.0", part, number)
			}
			target, l.Items = id, number
		}
	default:
		return l, fmt.Errorf("%q: %q is not job, work or subjob", part, fields[1])
	}
	if id, items, found := strings.Cut(target, ":"); found && jobNumber(id) > 0 {
		// a number and items where no items can be
		items, _, _ = strings.Cut(items, ":")
		return l, fmt.Errorf("%q: items of a job are named once, behind a link on them; write link-%s-work-%s:%s", part,
			l.End, id, cmp.Or(items, "7"))
	}
	if l.Job = jobNumber(target); l.Job == 0 {
		if strings.Trim(target, "0123456789") == "" {
			return l, fmt.Errorf("%q names no job: %q is not a job's number", part, target)
		}
		l.Label = target
	}
	return l, nil
}

// jobNumber is the job of that number, 0 if it is none.
func jobNumber(text string) JobID {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || id > MaxJobID || strconv.FormatInt(id, 10) != text {
		return 0
	}
	return JobID(id)
}

// Satisfied says whether a parent in this state fulfils the link. Of a link on items it may be fulfilled in other
// states, too: that depends on the items.
func (l Link) Satisfied(s JobState) bool {
	if l.End == "done" {
		return s.Final()
	}
	return l.End == string(s) && (s == Complete || l.Of == OfJob)
}

// Each says whether each item of the job waits for its own, so that the job as a whole need not wait.
func (l Link) Each() bool { return l.Of == OfItems && l.Items == "" && l.Job != 0 }

// MetBy says whether an item of the parent in this state fulfils a link on items.
func (l Link) MetBy(s agenda.State) bool {
	ended := s == agenda.Complete || s == agenda.Failed || s == agenda.Killed
	return ended && (l.End == "done" || l.End == s.String())
}

// Name is the job as the link names it.
func (l Link) Name() string {
	if l.Job == 0 {
		return "the job labelled " + l.Label
	}
	return fmt.Sprintf("job %d", l.Job)
}

// Spread is the link on the jobs of one submission, the last of which it names. A submission of several jobs is
// complete or done when all of them are, and failed or killed as one job is by its items: see Settle.
func (l Link) Spread(jobs []JobID) []Link {
	links := make([]Link, 0, len(jobs))
	for _, id := range jobs {
		one := l
		one.Job = id
		links = append(links, one.alternative(len(jobs), l.Job))
	}
	return links
}

func (l Link) alternative(jobs int, last JobID) Link {
	if jobs > 1 && l.Of == OfJob && (l.End == string(FailedJob) || l.End == string(KilledJob)) {
		l.Among = last
	}
	return l
}

// Widen makes of a link on items one on the whole job, one of so many of a submission.
func (l Link) Widen(jobs int, last JobID) Link {
	l.Of = OfJob
	return l.alternative(jobs, last)
}

// ResolveLinks takes out the links on how several jobs end together, if these have ended so: killed if one of them was,
// else failed if one of them is, as a job by its items. State tells what has become of a job, "" of a job that is in
// memory no more.
func ResolveLinks(links []Link, state func(JobID) JobState) []Link {
	if !slices.ContainsFunc(links, func(l Link) bool { return l.Among != 0 }) {
		return links
	}
	type group struct {
		last JobID
		end  string
	}
	open, ends := map[group]bool{}, map[group]map[JobState]bool{}
	links = slices.Clone(links)
	for n := range links {
		l := &links[n]
		if l.Among == 0 {
			continue
		}
		is := state(l.Job)
		if is.Final() {
			l.Was = is
		}
		of := group{l.Among, l.End}
		if ends[of] == nil {
			ends[of] = map[JobState]bool{}
		}
		ended := cmp.Or(is, l.Was) // a job that runs again is in memory
		ends[of][ended] = true
		open[of] = open[of] || !ended.Final()
	}
	return slices.DeleteFunc(links, func(l Link) bool {
		of := group{l.Among, l.End}
		return l.Among != 0 && !open[of] && ends[of][JobState(l.End)] && (l.End == string(KilledJob) || !ends[of][KilledJob])
	})
}
