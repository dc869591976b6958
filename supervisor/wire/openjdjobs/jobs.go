package openjdjobs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"qb/api"
	"qb/internal/pathmap"
	"qb/openjd"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
)

// mostSteps is a limit of labels that jobs wait for.
const mostSteps = 500

// Site is what the settings say of jobs of Open Job Description.
type Site struct {
	Environments []File            // of the job's cluster; the first one is entered first
	Amounts      map[string]string // by name the resource that is reserved
	Attributes   map[string]string // by name the condition on hosts, with {} for the value
	// Seconds are what items of the owner's jobs take, by profile. It is called only if chunks should take a time.
	Seconds func() map[string]float64
}

// File is an environment template of the site.
type File struct {
	Name string
	Text []byte
}

// ReadFile reads an environment template of the site.
func ReadFile(name string) (File, error) {
	text, err := readFile(os.DirFS(filepath.Dir(name)), filepath.Base(name), openjd.MaxDocument)
	return File{name, text}, err
}

func (f File) syntax() string {
	if openjd.SyntaxOf(f.Name) == openjd.JSON {
		return "json"
	}
	return ""
}

// Job is a request that was read.
type Job struct {
	Remarks []string

	request   *api.OpenJDRequest
	site      Site
	documents []api.OpenJDDocument // as a host gets them
	template  *openjd.JobTemplate
	entered   []*openjd.EnvironmentTemplate
	job       *openjd.Job      // nil: there are problems
	sizes     map[string]int64 // of chunks, where they are not those of the template
	problems  []api.OpenJDProblem
}

// Read reads the documents and values of a request. What is wrong with them is kept for Err and Check.
func Read(r *api.OpenJDRequest, site Site) *Job {
	j := &Job{request: r, site: site}
	d := j.read("template", r.Template)
	if j.template = d.Job; d.Environment != nil {
		j.complain("template", openjd.Problem{Path: "specificationVersion",
			Reason: "the document is an environment template; give a job template"})
	}
	for _, f := range site.Environments {
		j.environment(f.Name, api.OpenJDDocument{Text: string(f.Text), Syntax: f.syntax()})
	}
	for n, d := range r.Environments {
		j.environment(fmt.Sprintf("environment %d", n+1), d)
	}
	if len(j.problems) > 0 {
		return j
	}
	made, err := j.create()
	if !j.takes("values", err) {
		return j
	}
	if j.sizes = j.chunkSizes(made); len(j.sizes) > 0 {
		if made, err = j.create(); !j.takes("values", err) {
			return j
		}
	}
	for _, v := range made.Values {
		if v.Type == openjd.Path && v.Value != "" && !pathmap.Absolute(v.Value) {
			j.complain("values", openjd.Problem{Path: v.Name, Reason: fmt.Sprintf(
				"%q is not an absolute path, and only the machine that submits knows what it is relative to", v.Value)})
		}
	}
	if len(made.Steps) > mostSteps {
		j.complain("template", openjd.Problem{Path: "steps", Reason: fmt.Sprintf(
			"the job has %d steps, and at most %d become jobs of one process group", len(made.Steps), mostSteps)})
	}
	if len(j.problems) == 0 {
		j.job = made
	}
	return j
}

func (j *Job) create() (*openjd.Job, error) {
	return openjd.CreateJob(j.template, openjd.Submission{Values: j.request.Values, Environments: j.entered,
		ChunkSizes: j.sizes})
}

// read reads a document and keeps it for the hosts.
func (j *Job) read(name string, text api.OpenJDDocument) openjd.Document {
	j.documents = append(j.documents, text)
	d, err := read(text)
	j.takes(name, err)
	return d
}

func (j *Job) environment(name string, text api.OpenJDDocument) {
	d := j.read(name, text)
	if d.Job != nil {
		j.complain(name, openjd.Problem{Path: "specificationVersion",
			Reason: "the document is a job template; give an environment template"})
	}
	if d.Environment != nil {
		j.entered = append(j.entered, d.Environment)
	}
}

// takes keeps the problems of a document; true: there are none.
func (j *Job) takes(document string, err error) bool {
	var problems openjd.Problems
	if err != nil && !errors.As(err, &problems) {
		problems = openjd.Problems{{Reason: err.Error()}}
	}
	for _, p := range problems {
		if document == "values" && p.Line > 0 { // what the values make of the template
			document = "template"
		}
		j.complain(document, p)
	}
	return err == nil
}

func (j *Job) complain(document string, p openjd.Problem) {
	j.problems = append(j.problems,
		api.OpenJDProblem{Document: document, Path: p.Path, Line: p.Line, Column: p.Column, Reason: p.Reason})
}

// Err is all that is wrong with the documents and values, as one refusal.
func (j *Job) Err() error {
	if len(j.problems) == 0 {
		return nil
	}
	var lines []string
	for _, p := range j.problems {
		one := openjd.Problem{Path: p.Path, Line: p.Line, Column: p.Column, Reason: p.Reason}
		lines = append(lines, p.Document+": "+one.String())
	}
	return &api.Error{Kind: api.KindInvalid, Member: "template", Text: strings.Join(lines, "\n")}
}

// Name is the name of the job.
func (j *Job) Name() string { return j.job.Name }

// Steps are the names of the steps, in the order of their submissions.
func (j *Job) Steps() []string {
	var names []string
	for _, s := range j.job.Ordered() {
		names = append(names, s.Name)
	}
	return names
}

// decided are attributes that the template decides.
var decided = []string{"name", "command", "shell", "cwd", "type", "system", "range", "chunk", "partitions", "order",
	"padding", "label", "pgrp", "dependency", "regex_progress", "regex_highlights", "validate", "p_agenda",
	"p_agenda_priority", "p_agenda_cpus", "postflights", "agenda_preflights", "agenda_postflights"}

// attributes are what the request gives for all jobs.
func (j *Job) attributes() (api.SubmitRequest, error) {
	if j.request.Job == nil {
		return api.SubmitRequest{}, nil
	}
	r := *j.request.Job
	for field, value := range reflect.ValueOf(r).Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !value.IsZero() && slices.Contains(decided, name) && (value.Kind() != reflect.Slice || value.Len() > 0) {
			return r, problem.Invalid("job", "%s is decided by the template; leave it out", name)
		}
	}
	return r, nil
}

// Submissions are the jobs of the steps, in the order of their dependencies. The first one has no process group; it is
// that of the others.
func (j *Job) Submissions() ([]*api.SubmitRequest, error) {
	base, err := j.attributes()
	if err != nil {
		return nil, err
	}
	base.Name = clip(j.job.Name)
	base.Command = []string{`exec "$QBDIR/qb" openjd session`}
	base.Shell = true
	base.Type = "loadonce"
	base.Cwd = "/"
	base.RegexProgress = `^openjd_progress: ([0-9.]+)`
	base.RegexHighlights = "^openjd_status: .*\n^openjd_fail: .*"
	if base.MaxCPUs == nil {
		base.MaxCPUs = new(facts.NoLimit)
	}
	suspended, err := j.bundle(&base)
	if err != nil {
		return nil, err
	}
	suspended = suspended || base.Status == "blocked"
	base.Status = ""
	base.Flags = append(slices.Clone(base.Flags), facts.FlagConvertPath) // else a host's map does not act on sessions
	base.Env = map[string]string{}
	if j.request.Job != nil {
		maps.Copy(base.Env, j.request.Job.Env)
	}
	system, paths := j.paths()
	base.System = system
	if paths != "" {
		base.Env[PathsVariable] = paths
	}
	data := Data{Version: 1, Documents: j.documents, Values: map[string]string{}}
	for _, v := range j.job.Values {
		data.Values[v.Name] = v.Value
	}
	packed, err := data.pack()
	if err != nil {
		return nil, err
	}
	labels := j.labels()
	var requests []*api.SubmitRequest
	for _, s := range j.job.Ordered() {
		r, err := j.submission(s, base, packed, labels)
		if err != nil {
			return nil, err
		}
		if suspended && r.Dependency == "" { // to unblock a job ends its waiting for others, too
			r.Status = "blocked"
		}
		requests = append(requests, r)
	}
	return requests, nil
}

// submission is the job of a step.
func (j *Job) submission(s *openjd.Step, r api.SubmitRequest, packed string,
	labels map[string]string) (*api.SubmitRequest, error) {
	value, err := Part{s.Name, j.sizes[s.Name]}.value(packed)
	if err = cmp.Or(err, j.needs(s, &r)); err != nil {
		return nil, err
	}
	r.Profile = j.profile(j.job, s, s.Space.Chunk().Size)
	r.Env = maps.Clone(r.Env) // a map of its own
	r.Env[Variable] = value
	r.Label = labels[s.Name]
	r.Range = "0"
	if n := s.Space.Len(); n > 1 {
		r.Range = fmt.Sprintf("0-%d", n-1)
	}
	var links []string
	for _, before := range s.Dependencies {
		links = append(links, "link-complete-job-"+labels[before])
	}
	r.Dependency = strings.Join(links, ",")
	return &r, nil
}

// paths are the values of PATH parameters, and the system of which they are: a session itself runs on Linux.
func (j *Job) paths() (system, paths string) {
	system = "linux"
	var all []string
	for _, v := range j.job.Values {
		if v.Type != openjd.Path || v.Value == "" {
			continue
		}
		if all = append(all, v.Value); !strings.HasPrefix(v.Value, "/") {
			system = "windows"
		}
	}
	return system, strings.Join(all, "\n")
}

// clip is as much of a text as a name may have.
func clip(s string) string {
	if runes := []rune(s); len(runes) > facts.MaxName {
		return string(runes[:facts.MaxName])
	}
	return s
}

// labels are the labels of the steps' jobs: their names, where a link can name them.
func (j *Job) labels() map[string]string {
	labels := map[string]string{}
	taken := map[string]bool{}
	for _, s := range j.job.Steps {
		taken[s.Name] = true
	}
	for n, s := range j.job.Steps {
		label := s.Name
		beforeColon, _, _ := strings.Cut(label, ":")
		if strings.Contains(label, ",") || strings.TrimSpace(label) != label || len([]rune(label)) > facts.MaxName ||
			strings.Trim(beforeColon, "0123456789") == "" {
			for label = fmt.Sprintf("step %d", n+1); taken[label]; {
				label += "."
			}
			taken[label] = true
			j.remark("the label of %q is %q: a label has up to %d characters without commas or blanks around them, and is no number",
				s.Name, label, facts.MaxName)
		}
		labels[s.Name] = label
	}
	return labels
}

func (j *Job) remark(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(j.Remarks, text) {
		j.Remarks = append(j.Remarks, text)
	}
}

// standardPriority is what dialogs write where the user chooses nothing, of 0 to 100, the best.
const standardPriority = 50

// bundle takes the values of a bundle that are for a farm, and remarks on what qb has nothing like.
func (j *Job) bundle(r *api.SubmitRequest) (suspended bool, err error) {
	for _, name := range slices.Sorted(maps.Keys(j.request.Bundle)) {
		value := j.request.Bundle[name]
		number := func(most int) (n int) {
			n, failed := strconv.Atoi(value)
			if failed != nil || n < 0 || n > most {
				err = problem.Invalid("bundle", "%s: %q is not a whole number from 0 to %d", name, problem.Clip(value), most)
			}
			return n
		}
		switch name {
		case "deadline:priority":
			switch n := number(100); {
			case r.Priority != nil: // what the submitter gives counts more
			case n > standardPriority: // from just better than the default to the best
				r.Priority = new(1 + (100-n)*9998/(100-standardPriority))
			case n < standardPriority:
				j.remark("%s %d is below 50 and counts as the farm's default priority; the attribute priority gives another",
					name, n)
			}
		case "deadline:maxRetriesPerTask":
			if n := number(facts.MaxRetryWork); r.RetryWork == nil {
				r.RetryWork = new(n)
			}
		case "deadline:targetTaskRunStatus":
			suspended = value == "SUSPENDED"
			if !suspended && value != "READY" {
				err = problem.Invalid("bundle", "%s: %q is neither READY nor SUSPENDED", name, problem.Clip(value))
			}
		default:
			j.remark("%s is left out: qb has nothing like it", problem.Clip(name))
		}
	}
	return suspended, err
}
