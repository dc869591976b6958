package service

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"qb/api"
	"qb/supervisor/store/endsaudit"
	"qb/supervisor/store/postgres"
)

// workersReport is the result of comparing the workers' records with the rows.
type workersReport struct {
	Hosts       int      `json:"hosts"` // that are up
	Answered    int      `json:"answered"`
	Records     int      `json:"records"`
	Unplaced    int      `json:"unplaced"`      // records of boots that were never compared with the farm's time
	NotAnswered []string `json:"not_answered"`  // at most 100
	Cut         bool     `json:"cut,omitempty"` // there were more records than are compared
}

const endsPageBytes = 8 << 20

// maxEndRecords is how many records and clock checks are retained in memory.
const maxEndRecords = 5_000_000

// auditWorkers asks the workers that are up for their end records and compares them with each other and with the
// rows of the same span.
func (a *auditor) auditWorkers(ctx context.Context) (report workersReport, problems []postgres.Problem, err error) {
	report.NotAnswered = []string{}
	var hosts []api.Host
	if err := a.Supervisor.Ask(ctx, api.ListHosts, nil, &hosts); err != nil {
		return report, nil, err
	}
	var expected []string
	for _, h := range hosts {
		if h.State == "up" || h.State == "locked" {
			expected = append(expected, h.Name)
		}
	}
	collected := endsaudit.Collect(expected, maxEndRecords)
	report.Hosts = len(expected)
	if err := collectEnds(ctx, a.Supervisor, collected, a.Wait); err != nil {
		return report, nil, err
	}
	var pinged api.Ping
	if err := a.Supervisor.Ask(ctx, api.PingFarm, nil, &pinged); err != nil {
		return report, nil, err
	}
	missing := collected.Missing()
	report.Answered, report.Cut = collected.Answered(), collected.Cut
	report.NotAnswered = append(report.NotAnswered, missing[:min(len(missing), 100)]...)
	ends := collected.Compare(pinged.Now, time.Time{})
	report.Records, report.Unplaced = ends.Runs()
	if err := compareRows(ctx, ends, a.Database, pinged.Now.Add(-a.Span)); err != nil {
		return report, nil, err
	}
	for _, p := range ends.Problems() {
		problems = append(problems, postgres.Problem{Kind: p.Kind, Job: p.Job, Item: &p.Item, Text: p.Text})
	}
	return report, problems, nil
}

// compareRows reads the rows after the records, so that they know of each record.
func compareRows(ctx context.Context, ends *endsaudit.Comparison, url string, since time.Time) error {
	if err := postgres.EndsSince(ctx, url, since, ends.Row); err != nil {
		return api.Errorf(api.KindUnavailable, "%v", err)
	}
	items := ends.Unseen()
	if len(items) == 0 {
		return nil
	}
	var rows []endsaudit.EndRow
	if err := postgres.EndsOf(ctx, url, items, func(r endsaudit.EndRow) { rows = append(rows, r) }); err != nil {
		return api.Errorf(api.KindUnavailable, "%v", err)
	}
	ends.Unknown(rows)
	return nil
}

// collectEnds reads pages until all expected hosts have sent their last, none has come for the time wait, or there are
// more records than are retained.
func collectEnds(ctx context.Context, c Supervisor, collected *endsaudit.Collection, wait time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(wait, cancel)
	defer silence.Stop()
	resp, err := c.Open(ctx, api.ReadEnds, nil, nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 64<<10), endsPageBytes)
	for !collected.Over() && lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue // still here
		}
		silence.Reset(wait)
		var page api.EndsPage
		if err := json.Unmarshal(lines.Bytes(), &page); err != nil {
			return fmt.Errorf("reading the workers' end records: %w", err)
		}
		collected.Add(&page)
	}
	if err := lines.Err(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("reading the workers' end records: %w", err)
	}
	return nil
}
