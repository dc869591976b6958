package service

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/find"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

func newAuditCommand(connect func(*cobra.Command) Supervisor) *cobra.Command {
	o := auditOptions{since: 24 * time.Hour, wait: 30 * time.Second}
	cmd := &cobra.Command{
		Use: "audit", Short: "Verify in the database that every item is accounted for exactly once",
		Args: commandline.WantArgs(0, 0, ""),
		Long: "Verify in the database, without the supervisor, that every item of every job is accounted for exactly\n" +
			"once. Otherwise print the offending rows and exit with 1. The database is the one of qb.conf or farm.json.\n" +
			"If it authenticates local users by account (peer), run: sudo -u qb qb audit.\n" +
			"The slots, memory and resources that the leader counts as used are compared with the rows of running\n" +
			"attempts; without a leader this is skipped, with a remark. With -workers (operators only) each reachable\n" +
			"worker sends its records of the last day. Then two runs of one item at once, an attempt that ran twice,\n" +
			"and an end that differs between worker and rows are problems too.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := o.run(cmd, connect(cmd))
			if err != nil {
				return err
			}
			if o.json {
				err = output.PrintJSON(cmd.OutOrStdout(), report)
			} else {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d jobs, %d items, %d attempts, %d problems\n",
					report.Jobs, report.Items, report.Attempts, len(report.Problems))
				if w := report.Workers; w != nil {
					_, err = fmt.Fprintf(cmd.OutOrStdout(),
						"%d of %d workers answered, %d end records, %d of them on a clock that was never compared\n",
						w.Answered, w.Hosts, w.Records, w.Unplaced)
				}
			}
			if w := report.Workers; w != nil && len(w.NotAnswered) > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "qb audit: not answered within %s: %s\n", o.wait,
					output.Escape(strings.Join(w.NotAnswered, ", ")))
			}
			if w := report.Workers; w != nil && w.Cut {
				fmt.Fprintf(cmd.ErrOrStderr(),
					"qb audit: the workers have more than %d end records, the most that are compared; the rest were not read\n",
					maxEndRecords)
			}
			if report.NotCompared != "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "qb audit: what attempts hold was not compared with a leader: %s\n",
					output.Escape(report.NotCompared))
			}
			if err != nil || len(report.Problems) == 0 {
				return err
			}
			for _, p := range report.Problems {
				fmt.Fprintln(cmd.ErrOrStderr(), output.Escape(p.String()))
			}
			return commandline.ErrSilent
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON object")
	cmd.Flags().BoolVar(&o.workers, "workers", false, "compare the rows with the workers' own records of the last day")
	cmd.Flags().Var((*units.Span)(&o.since), "since", "with -workers: only attempts that ended within `DURATION`")
	cmd.Flags().Var((*units.Span)(&o.wait), "wait", "with -workers: stop when no worker has sent anything for `DURATION`")
	return cmd
}

type auditOptions struct {
	json, workers bool
	since, wait   time.Duration
}

func (o *auditOptions) run(cmd *cobra.Command, supervisor Supervisor) (auditReport, error) {
	url, err := findDatabase(cmd)
	if err != nil {
		return auditReport{}, err
	}
	a := auditor{Database: url, Span: o.since, Wait: o.wait, Supervisor: supervisor}
	return a.Audit(cmd.Context(), o.workers)
}

// findDatabase is the database of the configuration, else that of the farm that runs here.
func findDatabase(cmd *cobra.Command) (string, error) {
	conf, err := find.Config(cmd)
	if err != nil {
		return "", err
	}
	if conf.DatabaseURL != "" {
		return conf.DatabaseURL, nil
	}
	farm, name, err := find.ReadFarm(conf)
	if err != nil {
		return "", err
	}
	if farm == nil {
		return "", api.Errorf(api.KindUnavailable, "no database found: database_url is not set and there is no %s", name)
	}
	return farm.DatabaseURL, nil
}
