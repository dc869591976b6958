package facts

// JobTypes are the types of jobs that there are.
var JobTypes = []string{"cmdline", "cmdrange"}

// Type is cmdrange for a job with a range of items, else cmdline.
func (j *JobFacts) Type() string {
	if j.Agenda.Range != "" {
		return JobTypes[1]
	}
	return JobTypes[0]
}
