package offline

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"qb/api"
	"qb/supervisor/store/postgres"
)

// WorkersReport is the result of comparing the workers' records with the rows.
type WorkersReport struct {
	Hosts       int      `json:"hosts"` // that are up
	Answered    int      `json:"answered"`
	Records     int      `json:"records"`
	Unplaced    int      `json:"unplaced"`      // records of boots that were never compared with the farm's time
	NotAnswered []string `json:"not_answered"`  // at most 100
	Cut         bool     `json:"cut,omitempty"` // there were more records than are compared
}

const (
	maxUnseen     = 10_000 // items whose rows are looked up one by one
	endsPageBytes = 8 << 20

	MaxEndRecords = 5_000_000 // retained in memory, with clock checks
)

// auditWorkers asks the workers that are up for their end records and compares them with each other and with the
// rows of the same span.
func (a *Auditor) auditWorkers(ctx context.Context) (report WorkersReport, problems []postgres.Problem, err error) {
	report.NotAnswered = []string{}
	var hosts []api.Host
	if err := a.Supervisor.Ask(ctx, api.ListHosts, nil, &hosts); err != nil {
		return report, nil, err
	}
	expected := map[string]bool{}
	for _, h := range hosts {
		if h.State == "up" || h.State == "locked" {
			expected[h.Name] = true
		}
	}
	report.Hosts = len(expected)
	workers, cut, err := collectEnds(ctx, a.Supervisor, expected, a.Wait)
	if err != nil {
		return report, nil, err
	}
	var pinged api.Ping
	if err := a.Supervisor.Ask(ctx, api.PingFarm, nil, &pinged); err != nil {
		return report, nil, err
	}
	for _, w := range workers {
		if w.last {
			report.Answered++
			delete(expected, w.host)
		}
	}
	report.NotAnswered = slices.AppendSeq(report.NotAnswered, maps.Keys(expected))
	slices.Sort(report.NotAnswered)
	report.NotAnswered = report.NotAnswered[:min(len(report.NotAnswered), 100)]
	ends := newEndsAuditor(pinged.Now, workers)
	report.Records, report.Cut = len(ends.runs), cut
	for _, run := range ends.runs {
		if !run.placed {
			report.Unplaced++
		}
	}
	ends.compareRuns()
	if err := ends.compareRows(ctx, a.Database, ends.now.Add(-a.Span)); err != nil {
		return report, nil, err
	}
	return report, ends.problems, nil
}

// compareRows reads the rows after the records, so that they know of each record.
func (a *endsAuditor) compareRows(ctx context.Context, url string, since time.Time) error {
	if err := postgres.EndsSince(ctx, url, since, a.row); err != nil {
		return api.Errorf(api.KindUnavailable, "%v", err)
	}
	items := a.unseen(maxUnseen)
	if len(items) == 0 {
		return nil
	}
	var rows []postgres.EndRow
	if err := postgres.EndsOf(ctx, url, items, func(r postgres.EndRow) { rows = append(rows, r) }); err != nil {
		return api.Errorf(api.KindUnavailable, "%v", err)
	}
	a.compareUnseen(rows)
	return nil
}

// collectEnds reads pages until all expected hosts have sent their last, none has come for the time wait, or there are more
// records than MaxEndRecords.
func collectEnds(ctx context.Context, c Supervisor, expected map[string]bool, wait time.Duration) (workers []*workerEnds, cut bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(wait, cancel)
	defer silence.Stop()
	resp, err := c.Open(ctx, api.ReadEnds, nil, nil, nil)
	if err != nil {
		return nil, false, err
	}
	defer resp.Body.Close()
	byHost := map[string]*workerEnds{}
	missing, held := len(expected), 0
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 64<<10), endsPageBytes)
	for missing > 0 && !cut && lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue // still here
		}
		silence.Reset(wait)
		var page api.EndsPage
		if err := json.Unmarshal(lines.Bytes(), &page); err != nil {
			return nil, false, fmt.Errorf("reading the workers' end records: %w", err)
		}
		w := byHost[page.Host]
		if w == nil {
			w = &workerEnds{host: page.Host}
			byHost[page.Host] = w
		}
		if w.add(&page); w.last && expected[page.Host] {
			missing--
		}
		held += len(page.Records) + len(page.Clocks)
		cut = held > MaxEndRecords && missing > 0
	}
	if err := lines.Err(); err != nil && ctx.Err() == nil {
		return nil, false, fmt.Errorf("reading the workers' end records: %w", err)
	}
	return slices.SortedFunc(maps.Values(byHost), func(x, y *workerEnds) int { return strings.Compare(x.host, y.host) }), cut, nil
}
