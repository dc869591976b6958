package shim

import (
	"fmt"
	"slices"

	"qb/api"
	"qb/internal/patterns"
	"qb/worker/core"
)

// CodeNoLicence is the code of an end whose item found no licence.
const CodeNoLicence = "no_licence"

// mostSaid is how much of a line the reason of an end says.
const mostSaid = 200

// licences looks in an item's output for words that say it found no licence. The pump's goroutine writes it until it
// has ended.
type licences []licenceRule

type licenceRule struct {
	api.NoLicence
	pattern *patterns.Expression // nil: none, or it was found
	found   string               // the line
}

// watchLicences is nil if there is nothing to look for. A pattern that cannot be read finds nothing; the supervisor has
// read it.
func watchLicences(rules []api.NoLicence) (l licences) {
	for _, r := range rules {
		rule := licenceRule{NoLicence: r}
		if r.Pattern != "" {
			rule.pattern, _ = patterns.Compile(r.Pattern)
		}
		l = append(l, rule)
	}
	return l
}

func (l licences) look(line patterns.Piece, over func() bool) {
	for n := range l {
		r := &l[n]
		if r.pattern == nil || over() {
			continue
		}
		if _, at := r.pattern.Find(line); at >= 0 {
			r.pattern = nil
			r.found = patterns.Excerpt(line, at, mostSaid)
		}
	}
}

// judge says of an item that failed by itself that it found no licence, if it did. It is asked once, at the end of the
// attempt: by then it is known whether its command, a line of its output, a file that is missing, a flight check or its
// time limit has failed it.
func (l licences) judge(f *api.Finished) {
	if Done(*f) || !slices.Contains([]string{"exit", "signal", "launch", core.OutcomeTimeout}, f.Outcome) {
		return
	}
	for _, r := range l {
		switch {
		case r.found != "":
			f.Code = CodeNoLicence
			f.Resource = r.Resource
			f.Reason = fmt.Sprintf("the item wrote %q", r.found)
			return
		case f.ExitCode != nil && slices.Contains(r.Exits, *f.ExitCode):
			f.Code = CodeNoLicence
			f.Resource = r.Resource
			f.Reason = fmt.Sprintf("exit status %d", *f.ExitCode)
			return
		}
	}
}
