package watch

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"qb/api"
)

// Farm is how the view calls the supervisor. It is used by one call at a time.
type Farm interface {
	// Ask calls an endpoint that changes nothing.
	Ask(ctx context.Context, e api.Endpoint, params api.Params, out any) error
	// Order gives one order, which happens at most once.
	Order(ctx context.Context, job int64, items, action string) (api.ActionReply, error)
	// Open is Ask for an answer that is a stream.
	Open(ctx context.Context, e api.Endpoint, params api.Params, in any, header http.Header) (*http.Response, error)
	// Find looks where the supervisor is now.
	Find() error
}

// Limits of what one look lists.
const (
	mostJobs    = 1000           // unfinished, newest first; as many as one page holds
	mostEnded   = 200            // ended before the watch began
	mostItems   = 10000          // of one job
	endedWithin = 24 * time.Hour // jobs that ended longer ago are not listed
	endedEvery  = 15 * time.Second
)

var (
	unfinished = []string{"pending", "running", "blocked", "suspended"}
	finished   = []string{"complete", "failed", "killed"}
)

// Look is the farm at one moment.
type Look struct {
	at    time.Time
	jobs  []api.Job // by id
	hosts []api.Host
	more  bool // there are more unfinished jobs
}

// source looks at the farm again and again.
type source struct {
	farm  Farm
	now   func() time.Time
	ids   []int64 // none: the unfinished jobs
	user  string  // "": every user's
	ended bool    // list jobs that ended within endedWithin, too; else a job that ends is listed only once more

	last  []api.Job // jobs of the last look
	seen  []int64   // jobs that ended while they were watched
	old   []api.Job // that ended before
	oldAt time.Time // when old was asked for
}

// look asks for jobs and hosts.
func (s *source) look(ctx context.Context) (Look, error) {
	l := Look{at: s.now()}
	var err error
	if len(s.ids) > 0 {
		l.jobs, err = s.named(ctx)
	} else {
		l.jobs, l.more, err = s.listed(ctx)
	}
	if err != nil {
		return l, err
	}
	slices.SortStableFunc(l.jobs, func(a, b api.Job) int { return int(a.ID - b.ID) })
	l.jobs = slices.CompactFunc(l.jobs, func(a, b api.Job) bool { return a.ID == b.ID })
	s.last = l.jobs
	return l, s.farm.Ask(ctx, api.ListHosts, nil, &l.hosts)
}

// named asks for each job by itself: an unknown id is then an error that names it.
func (s *source) named(ctx context.Context) ([]api.Job, error) {
	jobs := make([]api.Job, len(s.ids))
	for n, id := range s.ids {
		if err := s.farm.Ask(ctx, api.GetJob, jobParam(id), &jobs[n]); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// listed are the jobs that have not ended, the ones that did since the watch began, and perhaps some of those before; a
// job may be there more than once.
func (s *source) listed(ctx context.Context) (jobs []api.Job, more bool, err error) {
	if jobs, err = s.list(ctx, unfinished, mostJobs); err != nil {
		return nil, false, err
	}
	more = len(jobs) == mostJobs
	here := map[int64]bool{}
	for _, job := range jobs {
		here[job.ID] = true
	}
	for _, job := range s.last {
		if !here[job.ID] && !slices.Contains(finished, job.Status) {
			s.seen = append(s.seen, job.ID)
		}
	}
	if s.seen = s.seen[max(0, len(s.seen)-mostEnded):]; len(s.seen) > 0 {
		var ended []api.Job
		if err := s.farm.Ask(ctx, api.ListJobs, api.Params{"ids": joined(s.seen), "limit": strconv.Itoa(mostJobs)},
			&ended); err != nil {
			return nil, false, err
		}
		jobs = append(jobs, ended...)
	}
	if s.ended {
		if s.now().Sub(s.oldAt) > endedEvery {
			if s.old, err = s.list(ctx, finished, mostEnded); err != nil {
				return nil, false, err
			}
			s.old = slices.DeleteFunc(s.old, func(j api.Job) bool {
				return j.FinishedAt == nil ||
					s.now().Sub(*j.FinishedAt) > endedWithin
			})
			s.oldAt = s.now()
		}
		jobs = append(jobs, s.old...)
	} else {
		s.seen = s.seen[:0]
	}
	return jobs, more, nil
}

func (s *source) list(ctx context.Context, states []string, most int) (jobs []api.Job, err error) {
	params := api.Params{"status": strings.Join(states, ","), "limit": strconv.Itoa(most)}
	if s.user != "" {
		params["user"] = s.user
	}
	return jobs, s.farm.Ask(ctx, api.ListJobs, params, &jobs)
}

func jobParam(job int64) api.Params { return api.Params{"job": strconv.FormatInt(job, 10)} }

func joined(ids []int64) string {
	words := make([]string, len(ids))
	for n, id := range ids {
		words[n] = strconv.FormatInt(id, 10)
	}
	return strings.Join(words, ",")
}

func allEnded(jobs []api.Job) bool {
	return !slices.ContainsFunc(jobs, func(j api.Job) bool { return !slices.Contains(finished, j.Status) })
}

// verdict names the jobs that did not complete.
func verdict(jobs []api.Job) error {
	var bad []string
	for _, job := range jobs {
		switch job.Status {
		case "complete":
		case "killed":
			bad = append(bad, fmt.Sprintf("job %d was killed", job.ID))
		default:
			bad = append(bad, fmt.Sprintf("job %d %s", job.ID, job.Status))
		}
	}
	if len(bad) > 0 {
		return api.Errorf(api.KindConflict, "%s", strings.Join(bad, ", "))
	}
	return nil
}
