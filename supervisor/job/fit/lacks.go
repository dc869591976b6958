package fit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"qb/supervisor/job/facts"
)

// Bounds of what is remembered of what hosts lack.
const (
	maxLacks    = 256       // of one host at a time
	lackReport  = 3         // different items that this kept from running before a host is reported
	reportedFor = time.Hour // after the last of them
	lackForget  = RefusedFor
)

// Lack is what a host cannot give: a working folder, to one user or with User empty to all users; or the environment
// of a job, which its program enters before its items.
type Lack struct {
	Folder, User string
	Job          facts.JobID // whose environment it is; 0: it is a folder
}

// LackOf is what an end for that reason is about.
func LackOf(why facts.Reason, j *facts.JobFacts) Lack {
	switch why {
	case facts.ReasonEnvironment:
		return Lack{Job: j.ID}
	case facts.ReasonFolderDenied:
		return Lack{Folder: j.Cwd, User: j.User}
	}
	return Lack{Folder: j.Cwd}
}

// Reason is why it cannot be given.
func (l Lack) Reason() facts.Reason {
	switch {
	case l.Job != 0:
		return facts.ReasonEnvironment
	case l.User != "":
		return facts.ReasonFolderDenied
	}
	return facts.ReasonFolderMissing
}

// LackedBy is why a host is reported.
func (l Lack) LackedBy(h facts.HostID) facts.Why {
	why := facts.Because(l.Reason(), facts.Params{Folder: l.Folder, Host: h, User: l.User, Job: l.Job}, "")
	if l.Job != 0 {
		why.Cause += fmt.Sprintf(", and other hosts enter it; see qbitems %d -attempts, then mend the host or lock it", l.Job)
	} else {
		why.Cause += ", and other hosts have it; mount it there or lock the host"
	}
	return why
}

// Lacks is what a host has taught of what it cannot give jobs. The zero value is a host that has taught nothing.
type Lacks struct {
	until map[Lack]time.Time // when it gets again items that need that
	items []facts.AttemptID  // of different jobs or items that could not run, while others ran elsewhere
	last  Lack               // of them
	at    time.Time
}

// Note notes that the host cannot give that. It is false if the host lacks too much to remember.
func (l *Lacks) Note(now time.Time, lack Lack) bool {
	if l.until == nil {
		l.until = map[Lack]time.Time{}
	}
	if _, known := l.until[lack]; !known && len(l.until) >= maxLacks {
		return false
	}
	l.until[lack] = now.Add(lackForget)
	return true
}

// Any says whether there is something that the host is known to lack.
func (l *Lacks) Any() bool { return len(l.until) > 0 }

// Of is what the host lacks of what the job needs, and until when the job is kept from the host.
func (l *Lacks) Of(now time.Time, j *facts.JobFacts) (lack Lack, until time.Time, lacks bool) {
	if len(l.until) == 0 {
		return Lack{}, time.Time{}, false
	}
	for _, lack := range []Lack{{Folder: j.Cwd}, {Folder: j.Cwd, User: j.User}, {Job: j.ID}} {
		if until, ok := l.until[lack]; ok && now.Before(until) && (j.Cwd != "" || lack.Job != 0) {
			return lack, until, true
		}
	}
	return Lack{}, time.Time{}, false
}

// each visits what the host is known to lack, with until when it gets no items that need it.
func (l *Lacks) each(now time.Time, visit func(lack Lack, until time.Time)) {
	compare := func(a, b Lack) int {
		return cmp.Or(cmp.Compare(a.Folder, b.Folder), cmp.Compare(a.User, b.User), cmp.Compare(a.Job, b.Job))
	}
	for _, lack := range slices.SortedFunc(maps.Keys(l.until), compare) {
		if until := l.until[lack]; now.Before(until) {
			visit(lack, until)
		}
	}
}

// Pass forgets what is over, so that it is tried again, and says whether there was any.
func (l *Lacks) Pass(now time.Time) (any bool) {
	for lack, until := range l.until {
		if !now.Before(until) {
			delete(l.until, lack)
			any = true
		}
	}
	return any
}

// Again lets what the job needs be tried at once, and says whether the host was known to lack it.
func (l *Lacks) Again(j *facts.JobFacts) bool {
	known := len(l.until)
	delete(l.until, Lack{Folder: j.Cwd})
	delete(l.until, Lack{Folder: j.Cwd, User: j.User})
	delete(l.until, Lack{Job: j.ID})
	return len(l.until) < known
}

// FolderWorks notes that an item of the job runs there, and says whether the host was thought to lack its folder.
func (l *Lacks) FolderWorks(j *facts.JobFacts) bool {
	known := len(l.until)
	if l.last.Job == 0 && l.last.Folder == j.Cwd {
		l.items = nil
	}
	delete(l.until, Lack{Folder: j.Cwd})
	delete(l.until, Lack{Folder: j.Cwd, User: j.User})
	return len(l.until) < known
}

// AllWorks notes that an item of the job was done there, and says whether the host was thought to lack something for
// the job.
func (l *Lacks) AllWorks(j *facts.JobFacts) bool {
	known := l.FolderWorks(j)
	if l.last == (Lack{Job: j.ID}) {
		l.items = nil
	}
	return l.Again(j) || known
}

// Blame counts an item that could not run for want of what other hosts have. It is true when the host is to be
// reported, once.
func (l *Lacks) Blame(now time.Time, lack Lack, id facts.AttemptID) bool {
	if now.Sub(l.at) > reportedFor {
		l.items = nil
	}
	l.last, l.at = lack, now
	same := func(was facts.AttemptID) bool { return was.Job == id.Job && was.Item == id.Item }
	if len(l.items) >= lackReport || slices.ContainsFunc(l.items, same) {
		return false
	}
	l.items = append(l.items, id)
	return len(l.items) == lackReport
}

// Reported is that for which the host is reported, if it is.
func (l *Lacks) Reported(now time.Time) (Lack, bool) {
	return l.last, len(l.items) >= lackReport && now.Sub(l.at) <= reportedFor
}
