package api

import "net/http"

// The endpoints of Open Job Description.
var (
	SubmitOpenJD = Endpoint{"submit-openjd", http.MethodPost, "/v1/openjd", User,
		"Submit a job of Open Job Description: a job of the farm for each step"}
	ListJobTypes = Endpoint{"list-job-types", http.MethodGet, "/v1/types", ReadOnly,
		"The job types of the farm: forms of jobs that need no shell"}
	GetJobType = Endpoint{"get-job-type", http.MethodGet, "/v1/types/{type}", ReadOnly,
		"A job type with its template"}
	CheckOpenJD = Endpoint{"check-openjd", http.MethodPost, "/v1/openjd/check", User,
		"What submitting a job of Open Job Description would say and make; nothing is stored"}
)

// OpenJDRequest is a job of Open Job Description.
type OpenJDRequest struct {
	Type         string            `json:"type,omitempty" maxLength:"64" doc:"A job type, in place of the template."`
	Template     OpenJDDocument    `json:"template,omitempty" doc:"The job template."`
	Environments []OpenJDDocument  `json:"environments,omitempty" maxItems:"20" doc:"Environment templates; the first one is entered first, after those of the site."`
	Values       map[string]string `json:"values,omitempty" doc:"Values of the parameters. Those of PATH parameters are absolute: only the client knows what a relative path is relative to."`
	Bundle       map[string]string `json:"bundle,omitempty" doc:"What a bundle says to a farm, such as deadline:priority."`
	Job          *SubmitRequest    `json:"job,omitempty" doc:"Attributes of all its jobs, such as priority and account, as of a submission. What the template decides, such as command and range, is refused."`
}

// JobType is a form of jobs: a template of Open Job Description with attributes of its jobs.
type JobType struct {
	Name        string          `json:"name,omitempty"`
	Version     string          `json:"version" doc:"A job keeps the one that it was submitted with."`
	Description string          `json:"description"`
	File        string          `json:"file,omitempty" doc:"The parameter that the file of qbsub is; empty: it takes none."`
	Range       string          `json:"range,omitempty" doc:"The parameter that the range of qbsub is; empty: it takes none."`
	Site        bool            `json:"site,omitempty" doc:"It is of the site, and not built in."`
	Job         *SubmitRequest  `json:"job,omitempty" doc:"Attributes of its jobs, which a submission may change."`
	Template    *OpenJDDocument `json:"template,omitempty" doc:"Not in a list."`
	Sample      *JobTypeSample  `json:"sample,omitempty" doc:"Only if it is asked for."`
}

// OpenJDDocument is the text of a template.
type OpenJDDocument struct {
	Text   string `json:"text" maxLength:"1048576" doc:"As it was written."`
	Syntax string `json:"syntax,omitempty" enum:"json,yaml" doc:"Default yaml, in which JSON is written, too."`
}

// OpenJDReply answers a submission.
type OpenJDReply struct {
	Jobs    []OpenJDJob `json:"jobs" doc:"Each after those of the steps that it depends on."`
	Remarks []string    `json:"remarks"`
}

// OpenJDJob is the job of a step.
type OpenJDJob struct {
	Step string `json:"step"`
	Job  int64  `json:"job"`
}

// OpenJDCheck is what can be known of a job before it is submitted.
type OpenJDCheck struct {
	Name       string            `json:"name,omitempty" doc:"Empty if there are problems."`
	Parameters []OpenJDParameter `json:"parameters" doc:"Of all templates, in the order of a form."`
	Steps      []OpenJDStep      `json:"steps" doc:"In the order of the template; none if there are problems."`
	Problems   []OpenJDProblem   `json:"problems" doc:"What is wrong with the templates and values, at most 100 of a document."`

	Refusals []SubmissionRefusal `json:"refusals" doc:"Why submit would refuse it, besides its problems."`
	Remarks  []string            `json:"remarks" doc:"What submit would remark."`
}

// OpenJDParameter is a parameter of a job with its hints for a form.
type OpenJDParameter struct {
	Name        string   `json:"name"`
	Type        string   `json:"type" enum:"STRING,PATH,INT,FLOAT"`
	Description string   `json:"description,omitempty"`
	Default     *string  `json:"default,omitempty"`
	Allowed     []string `json:"allowed,omitempty" doc:"The only values."`
	Min         *string  `json:"min,omitempty" doc:"Of INT and FLOAT."`
	Max         *string  `json:"max,omitempty"`
	MinLength   *int64   `json:"min_length,omitempty" doc:"Of STRING and PATH, in characters."`
	MaxLength   *int64   `json:"max_length,omitempty"`
	Control     string   `json:"control" doc:"As userInterface names it, such as SPIN_BOX."`
	Label       string   `json:"label"`
	Group       string   `json:"group,omitempty"`
	Site        bool     `json:"site,omitempty" doc:"It is of an environment of the site."`
}

// OpenJDStep is a step of a job.
type OpenJDStep struct {
	Name         string   `json:"name"`
	Items        int64    `json:"items" doc:"Tasks; a chunk is one."`
	Dependencies []string `json:"dependencies,omitempty"`
	Environments []string `json:"environments,omitempty" doc:"In the order in which they are entered."`
	First        []string `json:"first" doc:"The first tasks, at most 10, such as Frame=1,Camera=left."`
	Last         string   `json:"last,omitempty" doc:"The last task, if there are more."`
}

// OpenJDProblem is one thing that is wrong.
type OpenJDProblem struct {
	Document string `json:"document" doc:"template, environment 1, values, or the name of a file of the site."`
	Path     string `json:"path,omitempty" doc:"Such as steps[0].script."`
	Line     int    `json:"line,omitempty" doc:"From 1; absent: it is of no line."`
	Column   int    `json:"column,omitempty"`
	Reason   string `json:"reason"`
}
