package facts

import (
	"fmt"
	"slices"

	"qb/internal/units"
)

// JobTypes are the types of jobs that there are.
var JobTypes = []string{"cmdline", "cmdrange", "loadonce"}

// Type is what was given; if nothing was, cmdrange for a job with a range of items, else cmdline.
func (j *JobFacts) Type() string {
	switch {
	case j.JobType != "":
		return j.JobType
	case j.Agenda.Range != "":
		return "cmdrange"
	}
	return "cmdline"
}

// LoadOnce says that the job's command is started once for each instance, and takes its items one after another.
func (j *JobFacts) LoadOnce() bool { return j.JobType == "loadonce" }

func checkType(text string) error {
	if text != "" && !slices.Contains(JobTypes, text) {
		return fmt.Errorf("%q is no type of jobs; write %s", text, units.Few(JobTypes))
	}
	return nil
}
