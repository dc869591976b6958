package fit

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"qb/supervisor/job/facts"
)

// Bounds of what is remembered of working folders.
const (
	maxFolders    = 256       // that one host lacks at a time
	folderReport  = 3         // different items that a host's folders kept from running before it is reported
	reportedFor   = time.Hour // after the last of them
	foldersForget = RefusedFor
)

// Folder is a working folder that a host cannot give: to one user, or with User empty to all users.
type Folder struct{ Path, User string }

// FolderOf is the folder that an end for that reason is about.
func FolderOf(why facts.Reason, j *facts.JobFacts) Folder {
	if why == facts.ReasonFolderDenied {
		return Folder{j.Cwd, j.User}
	}
	return Folder{Path: j.Cwd}
}

// Reason is why the folder cannot be given.
func (f Folder) Reason() facts.Reason {
	if f.User != "" {
		return facts.ReasonFolderDenied
	}
	return facts.ReasonFolderMissing
}

// LackedBy is why a host is reported.
func (f Folder) LackedBy(h facts.HostID) facts.Why {
	why := facts.Because(f.Reason(), facts.Params{Folder: f.Path, Host: h, User: f.User}, "")
	why.Cause += ", and other hosts have it; mount it there or lock the host"
	return why
}

// Folders is what a host has taught of the working folders of jobs. The zero value is a host that has taught nothing.
type Folders struct {
	lacks map[Folder]time.Time // until when it gets no items that run there
	items []facts.AttemptID    // of different jobs or items that could not run, while others ran elsewhere
	last  Folder               // of them
	at    time.Time
}

// Lack notes that the host cannot give a folder. It is false if the host lacks too many to remember.
func (l *Folders) Lack(now time.Time, f Folder) bool {
	if l.lacks == nil {
		l.lacks = map[Folder]time.Time{}
	}
	if _, known := l.lacks[f]; !known && len(l.lacks) >= maxFolders {
		return false
	}
	l.lacks[f] = now.Add(foldersForget)
	return true
}

// Any says whether there is a folder that the host is known to lack.
func (l *Folders) Any() bool { return len(l.lacks) > 0 }

// Of is the job's working folder, if the host lacks it, and until when the job is kept from the host.
func (l *Folders) Of(now time.Time, j *facts.JobFacts) (f Folder, until time.Time, lacks bool) {
	if len(l.lacks) > 0 && j.Cwd != "" {
		for _, f := range []Folder{{Path: j.Cwd}, {j.Cwd, j.User}} {
			if until, ok := l.lacks[f]; ok && now.Before(until) {
				return f, until, true
			}
		}
	}
	return Folder{}, time.Time{}, false
}

// lacking visits the folders that the host is known to lack, with until when it gets no items that run there.
func (l *Folders) lacking(now time.Time, visit func(f Folder, until time.Time)) {
	compare := func(a, b Folder) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.User, b.User)) }
	for _, f := range slices.SortedFunc(maps.Keys(l.lacks), compare) {
		if until := l.lacks[f]; now.Before(until) {
			visit(f, until)
		}
	}
}

// Pass forgets what is over, so that it is tried again, and says whether there was any.
func (l *Folders) Pass(now time.Time) (any bool) {
	for f, until := range l.lacks {
		if !now.Before(until) {
			delete(l.lacks, f)
			any = true
		}
	}
	return any
}

// Again lets the job's working folder be tried at once, and says whether the host was known to lack it.
func (l *Folders) Again(j *facts.JobFacts) bool {
	known := len(l.lacks)
	delete(l.lacks, Folder{Path: j.Cwd})
	delete(l.lacks, Folder{j.Cwd, j.User})
	return len(l.lacks) < known
}

// Works notes that an item of the job runs there, and says whether the host was thought to lack its folder.
func (l *Folders) Works(j *facts.JobFacts) bool {
	if l.last.Path == j.Cwd {
		l.items = nil
	}
	return l.Again(j)
}

// Blame counts an item that could not run for want of a folder which other hosts have. It is true when the host is to
// be reported, once.
func (l *Folders) Blame(now time.Time, f Folder, id facts.AttemptID) bool {
	if now.Sub(l.at) > reportedFor {
		l.items = nil
	}
	l.last, l.at = f, now
	same := func(was facts.AttemptID) bool { return was.Job == id.Job && was.Item == id.Item }
	if len(l.items) >= folderReport || slices.ContainsFunc(l.items, same) {
		return false
	}
	l.items = append(l.items, id)
	return len(l.items) == folderReport
}

// Reported is the folder for which the host is reported, if it is.
func (l *Folders) Reported(now time.Time) (Folder, bool) {
	return l.last, len(l.items) >= folderReport && now.Sub(l.at) <= reportedFor
}
