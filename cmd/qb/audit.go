package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/supervisor/facts"
	"qb/supervisor/store"
)

func newAuditCommand() *cobra.Command {
	var o auditOptions
	cmd := &cobra.Command{
		Use: "audit", Short: "Verify in the database that every item is accounted for exactly once", Args: wantArgs(0, 0, ""),
		Long: "Verify in the database, without the supervisor, that every item of every job is accounted for exactly\n" +
			"once. Otherwise print the offending rows and exit with 1. The database is the one of qb.conf or farm.json.\n" +
			"If it authenticates local users by account (peer), run: sudo -u qb qb audit.\n" +
			"The slots, memory and resources that the leader counts as used are compared with the rows of running\n" +
			"attempts; without a leader this is skipped, with a remark. With -workers (operators only) each reachable\n" +
			"worker sends its records of the last day. Then two runs of one item at once, an attempt that ran twice,\n" +
			"and an end that differs between worker and rows are problems too.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := audit(cmd, o)
			if err != nil {
				return err
			}
			if o.json {
				err = printJSON(cmd, report)
			} else {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d jobs, %d items, %d attempts, %d problems\n",
					report.Jobs, report.Items, report.Attempts, len(report.Problems))
				if w := report.Workers; w != nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d of %d workers answered, %d end records, %d of them on a clock that was never compared\n",
						w.Answered, w.Hosts, w.Records, w.Unplaced)
				}
			}
			if w := report.Workers; w != nil && len(w.NotAnswered) > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "qb audit: not answered within %s: %s\n", o.wait, output.Escape(strings.Join(w.NotAnswered, ", ")))
			}
			if w := report.Workers; w != nil && w.Cut {
				fmt.Fprintf(cmd.ErrOrStderr(), "qb audit: the workers have more than %d end records, the most that are compared; the rest were not read\n", endsRecordsMost)
			}
			if report.NotCompared != "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "qb audit: what is held was not compared with a leader: %s\n", output.Escape(report.NotCompared))
			}
			if err != nil || len(report.Problems) == 0 {
				return err
			}
			for _, p := range report.Problems {
				fmt.Fprintln(cmd.ErrOrStderr(), problemText(p))
			}
			return errSilent
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON object")
	cmd.Flags().BoolVar(&o.workers, "workers", false, "compare the rows with the workers' own records of the last day")
	cmd.Flags().DurationVar(&o.since, "since", 24*time.Hour, "with -workers: only attempts that ended within `DURATION`")
	cmd.Flags().DurationVar(&o.wait, "wait", 30*time.Second, "with -workers: stop when no worker has sent anything for `DURATION`")
	return cmd
}

type auditOptions struct {
	json, workers bool
	since, wait   time.Duration
}

func problemText(p store.Problem) string {
	place := ""
	if p.Job != 0 {
		place = fmt.Sprintf("job %d: ", p.Job)
	}
	if p.Item != nil {
		place = fmt.Sprintf("job %d, item number %d: ", p.Job, *p.Item)
	}
	return place + output.Escape(p.Text) + " (" + p.Kind + ")"
}

// auditReport is what the rows say, and how they fit what the leader says.
type auditReport struct {
	store.AuditReport
	Live        int    `json:"live"`                   // attempts that hold something
	NotCompared string `json:"not_compared,omitempty"` // why what they hold was not compared with the leader

	Workers *workersReport `json:"workers,omitempty"`
}

func audit(cmd *cobra.Command, o auditOptions) (report auditReport, err error) {
	url, err := findDatabase(cmd)
	if err != nil {
		return report, err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), startWithin)
	defer cancel()
	if report.AuditReport, err = store.Audit(ctx, url); err != nil {
		return report, api.Errorf(api.KindUnavailable, "%v", err)
	}
	rows := func() ([]facts.AttemptFacts, error) {
		live, err := store.Live(ctx, url)
		report.Live = len(live)
		return live, err
	}
	hosts := func() (hosts []api.Host, err error) {
		c, err := connect(cmd)
		if err != nil {
			return nil, err
		}
		return hosts, c.call(ctx, api.ListHosts, nil, nil, &hosts)
	}
	found, err := recount{rows, hosts, recountEvery, recountFor}.run(ctx)
	var unasked *notAsked
	if errors.As(err, &unasked) {
		report.NotCompared = unasked.Error()
	} else if err != nil {
		return report, api.Errorf(api.KindUnavailable, "%v", err)
	}
	report.Problems = append(report.Problems, found...)
	if o.workers {
		asked, told, err := auditWorkers(cmd, url, o.since, o.wait)
		if err != nil {
			return report, err
		}
		report.Workers, report.Problems = &asked, append(report.Problems, told...)
	}
	return report, nil
}

// findDatabase is the database of the configuration, else that of the farm that runs here.
func findDatabase(cmd *cobra.Command) (string, error) {
	conf, err := loadConfig(cmd)
	if err != nil {
		return "", err
	}
	if conf.DatabaseURL != "" {
		return conf.DatabaseURL, nil
	}
	farm, name, err := readFarmFile()
	if err != nil {
		return "", err
	}
	if farm == nil {
		return "", api.Errorf(api.KindUnavailable, "no database found: database_url is not set and there is no %s", name)
	}
	return farm.DatabaseURL, nil
}
