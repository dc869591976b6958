package api

import "net/http"

// ArchiveJob shows a job as it can be submitted again.
var ArchiveJob = Endpoint{"archive-job", http.MethodGet, "/v1/jobs/{job}/archive", User,
	"A job as it can be submitted again, with its state; of others' jobs for operators, without the environment"}

// What an archive of a job begins with.
const (
	ArchiveFormat  = "qb-job"
	ArchiveVersion = 1
)

// JobArchive is a job as a file.
type JobArchive struct {
	Format     string        `json:"format" doc:"qb-job"`
	Version    int           `json:"version" doc:"Of the format; a reader refuses another one."`
	Submission SubmitRequest `json:"submission" doc:"What submits it again."`
	Job        *Job          `json:"job,omitempty" doc:"The job as it is; absent: it was not submitted."`
}
