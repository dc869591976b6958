package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/supervisor/farm"
	"qb/supervisor/store"
)

func newAuditCommand() *cobra.Command {
	var o auditOptions
	cmd := &cobra.Command{
		Use: "audit", Short: "Count in the database that every item is accounted for exactly once", Args: wantArgs(0, 0, ""),
		Long: "Count in the database itself, past the supervisor, that every item of every job is accounted for\n" +
			"exactly once; exit 1 with the offending rows if not. The database is that of qb.conf or farm.json;\n" +
			"one that knows its users by who calls (peer) is asked as the service's user: sudo -u qb qb audit.\n" +
			"Slots, memory and resources that the leading supervisor counts as taken are recounted from the rows\n" +
			"of what lives; if none answers, a remark says so. With -workers each worker that is heard ships what it\n" +
			"keeps of the ends of a day (operators only): runs of one item at once, on whatever hosts, attempts that ran\n" +
			"twice, and ends of which workers and rows tell otherwise are problems too.",
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
				fmt.Fprintf(cmd.ErrOrStderr(), "qb audit: not answered within %s: %s\n", o.wait, escape(strings.Join(w.NotAnswered, ", ")))
			}
			if w := report.Workers; w != nil && w.Cut {
				fmt.Fprintf(cmd.ErrOrStderr(), "qb audit: the workers have more than %d end records, the most that are compared; the rest were not read\n", endsRecordsMost)
			}
			if report.NotCompared != "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "qb audit: what is held was not compared with a leader: %s\n", escape(report.NotCompared))
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
	cmd.Flags().BoolVar(&o.workers, "workers", false, "compare the rows with the workers' own records of the ends of a day")
	cmd.Flags().DurationVar(&o.since, "since", 24*time.Hour, "with -workers: rows that ended within `SPAN`")
	cmd.Flags().DurationVar(&o.wait, "wait", 30*time.Second, "with -workers: stop when none of them has sent anything for `SPAN`")
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
	return place + escape(p.Text) + " (" + p.Kind + ")"
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
	rows := func() ([]farm.AttemptFacts, error) {
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
