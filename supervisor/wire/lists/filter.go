package lists

import (
	"slices"
	"strings"

	"qb/agenda"
	"qb/api"
	"qb/internal/units"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
)

// Filter narrows a list of jobs.
type Filter struct {
	Query      store.JobQuery // what the rows must be
	statuses   []string       // one of which a job must have; nil: any
	expression *agenda.Filter // nil: none
}

// ReadFilter reads a filter; an error names its member.
func ReadFilter(f *api.JobFilter) (*Filter, error) {
	read := &Filter{Query: store.JobQuery{User: f.User, Name: f.Name, Cluster: strings.TrimRight(f.Cluster, "/"),
		ChangedSince: f.ChangedSince, FinishedSince: f.FinishedSince}}
	var err error
	if read.Query.Tags, err = readTags(f.Tags); err != nil {
		return nil, err
	}
	if err = read.readStatus(f.Status); err != nil {
		return nil, err
	}
	if strings.TrimSpace(f.Expression) == "" {
		return read, nil
	}
	read.expression, err = JobFields.Filter(f.Expression)
	return read, err
}

// ByExpression says whether rows alone do not tell which jobs pass: each must be looked at.
func (f *Filter) ByExpression() bool { return f.expression != nil }

// Passes says whether a job is to be listed.
func (f *Filter) Passes(v *facts.JobView) bool {
	return (f.statuses == nil || slices.Contains(f.statuses, v.Status)) &&
		(f.expression == nil || f.expression.Passes(JobFields.Lookup(v)))
}

// Counts reports whether the expression needs more than a job's row and status.
func (f *Filter) Counts() bool { return JobFields.Counts(f.expression) }

// Rejects says whether the row of a job that the live view does not have shows that it does not pass. Nothing needs to
// be counted for such a job.
func (f *Filter) Rejects(row facts.JobFacts) bool {
	if f.expression == nil || f.Counts() ||
		!row.State.Final() && (f.expression.Uses("status") || f.expression.Uses("code")) {
		return false
	}
	v := OfRow(row)
	return !f.Passes(&v)
}

// OfRow is a job as its row alone tells it.
func OfRow(row facts.JobFacts) facts.JobView {
	v := facts.JobView{JobFacts: row, Status: string(row.State)}
	if row.State == facts.Active {
		v.Status = "pending"
	}
	return v
}

var statusStates = map[string]facts.JobState{
	"pending": facts.Active, "running": facts.Active, "blocked": facts.Blocked, "suspended": facts.Suspended,
	"complete": facts.Complete, "failed": facts.FailedJob, "killed": facts.KilledJob,
}

// readTags reads NAME=VALUE. What has no "=" was cut off at a comma of the value before it.
func readTags(list []string) (facts.Tags, error) {
	values, last := map[string]string{}, ""
	for _, text := range list {
		name, value, named := strings.Cut(text, "=")
		switch {
		case named && value != "":
			last, values[name] = name, value
		case !named && last != "":
			values[last] += "," + text
		default:
			return facts.Tags{}, problem.Invalid("tags", "%q; write NAME=VALUE, such as prod_show=heron", problem.Clip(text))
		}
	}
	tags, unknown := facts.TagsOf(values)
	if len(unknown) > 0 {
		return tags, problem.Invalid("tags", "there is no tag %q; use %s", problem.Clip(unknown[0]),
			units.Few(facts.TagNames[:]))
	}
	return tags, nil
}

// readStatus reads a comma list of words for what is shown; the rows of such jobs are in certain states.
func (f *Filter) readStatus(text string) error {
	for _, word := range facts.SplitList(text) {
		words := []string{word}
		switch word {
		case "done":
			words = []string{"complete", "failed", "killed"}
		case "active":
			words = []string{"pending", "running", "blocked"}
		}
		for _, w := range words {
			state, ok := statusStates[w]
			if !ok {
				return problem.Invalid("status",
					"%q; use pending, blocked, running, suspended, complete, failed, killed, done or active", problem.Clip(word))
			}
			f.statuses = append(f.statuses, w)
			if !slices.Contains(f.Query.States, state) {
				f.Query.States = append(f.Query.States, state)
			}
		}
	}
	return nil
}
