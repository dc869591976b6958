package service

import (
	"context"
	"errors"
	"net/http"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/store/postgres"
)

// Supervisor is the supervisor, as far as an audit asks it.
type Supervisor interface {
	Ask(ctx context.Context, e api.Endpoint, params api.Params, out any) error
	Open(ctx context.Context, e api.Endpoint, params api.Params, in any, header http.Header) (*http.Response, error)
}

// auditor compares the rows of a database with each other, with what the leader counts as used, and with the workers'
// records.
type auditor struct {
	Database   string        // its URL
	Span       time.Duration // of the workers' records that are compared
	Wait       time.Duration // for the next page of a worker's records
	Supervisor Supervisor
}

// auditReport is the result of an audit.
type auditReport struct {
	postgres.AuditReport
	Live        int    `json:"live"`                   // attempts that hold something
	NotCompared string `json:"not_compared,omitempty"` // why what they hold was not compared with the leader

	Workers *workersReport `json:"workers,omitempty"`
}

// auditWithin bounds the part of an audit that reads the rows and asks the leader.
const auditWithin = 2 * time.Minute

// Audit verifies the rows; without a leader the comparison with it is skipped. The workers' records are compared on
// demand.
func (a *auditor) Audit(ctx context.Context, workers bool) (report auditReport, err error) {
	within, cancel := context.WithTimeout(ctx, auditWithin)
	defer cancel()
	if report.AuditReport, err = postgres.Audit(within, a.Database); err != nil {
		return report, api.Errorf(api.KindUnavailable, "%v", err)
	}
	rows := func() ([]facts.AttemptFacts, error) {
		live, err := postgres.Live(within, a.Database)
		report.Live = len(live)
		return live, err
	}
	hosts := func() (hosts []api.Host, err error) {
		return hosts, a.Supervisor.Ask(within, api.ListHosts, nil, &hosts)
	}
	found, err := recount{rows, hosts, recountEvery, recountFor}.run(within)
	var skipped *notCompared
	if errors.As(err, &skipped) {
		report.NotCompared = skipped.Error()
	} else if err != nil {
		return report, api.Errorf(api.KindUnavailable, "%v", err)
	}
	report.Problems = append(report.Problems, found...)
	if workers {
		compared, problems, err := a.auditWorkers(ctx)
		if err != nil {
			return report, err
		}
		report.Workers, report.Problems = &compared, append(report.Problems, problems...)
	}
	return report, nil
}
