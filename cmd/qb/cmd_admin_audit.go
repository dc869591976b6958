package main

import (
	"cmp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

func newAdminAudit() *cobra.Command {
	audit := &cobra.Command{Use: "audit", Short: "Show the audit trail: who did what, from where"}
	audit.AddCommand(newAuditLog())
	return audit
}

func newAuditLog() *cobra.Command {
	var list output.ListOptions
	var user, since string
	limit := 1000
	cmd := &cobra.Command{
		Use: "log", Short: "List changes, reads of others' output and refusals, newest first",
		Args: commandline.WantArgs(0, 0, ""),
		Long: "Every change is recorded in the commit that makes it durable. Reads of another user's output and refusals\n" +
			"are recorded soon after; above 30 a minute per caller they are only counted, as \"dropped\".",
		Example: "  qbadmin audit log -user ada -since 24h",
		RunE: func(cmd *cobra.Command, _ []string) error {
			params := api.Params{"user": user}
			if since != "" {
				from, err := momentAgo(since, time.Now())
				if err != nil {
					return err
				}
				params["since"] = from.UTC().Format(time.RFC3339Nano)
			}
			return listOf(cmd, "the audit trail has no rows of that user and time", list, auditColumns,
				func(c *client, add func(...api.AuditEntry) error) error {
					return pages[api.AuditEntry]{endpoint: api.AuditLog, params: params, size: auditPage, most: limit,
						next: func(last api.AuditEntry) (name, at string) {
							return "before", strconv.FormatInt(last.ID, 10)
						}}.each(cmd.Context(), c, add)
				})
		},
	}
	list.Bind(cmd.Flags())
	cmd.Flags().StringVar(&user, "user", "", "only actions of user `NAME`")
	cmd.Flags().StringVar(&since, "since", "", "only rows since `T`: a duration such as 24h or 7d, a date, or a time such as 2026-01-31T15:04:05Z")
	cmd.Flags().IntVar(&limit, "limit", limit, "print at most the `N` newest rows; 0: all")
	return cmd
}

var auditColumns = []output.Column[api.AuditEntry]{
	{Name: "at"},
	{Name: "user"},
	{Name: "from"},
	{Name: "outcome"},
	{Name: "verb"},
	{Name: "object"},
	{Name: "code"},
	{Name: "detail"},
	{Name: "times", Extra: true},
	{Name: "token", Extra: true},
	{Name: "request", Extra: true},
	{Name: "id", Extra: true},
}

// auditPage is how many rows one call asks for.
const auditPage = 500

// momentAgo reads a span before now, a date, or a time.
func momentAgo(text string, now time.Time) (time.Time, error) {
	if at, known, err := units.LocalMoment(text, time.Local); known {
		return at, cmp.Or(err, checkZone(text))
	}
	if ago, err := units.ParseSpan(text, time.Second); err == nil {
		return now.Add(-ago), nil
	}
	return time.Time{}, api.Errorf(api.KindUsage,
		"-since %s: write a span such as 24h or 7d, a date such as 2026-01-31, or a time such as 2026-01-31T15:04:05Z",
		output.Escape(text))
}
