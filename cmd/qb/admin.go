package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/archive"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/hostsettings"
	"qb/cmd/qb/joborder"
	"qb/cmd/qb/licences"
	"qb/cmd/qb/output"
	"qb/cmd/qb/people"
	"qb/cmd/qb/profiles"
	"qb/cmd/qb/remote"
	"qb/cmd/qb/shares"
	"qb/cmd/qb/summary"
	"qb/cmd/qb/tree"
	"qb/cmd/qb/whatif"
	"qb/units"
)

func newAdminCommand() *cobra.Command {
	admin := &cobra.Command{Use: "admin", Short: "Administer users, tokens, shares, the audit trail, the configuration and hosts"}
	token := &cobra.Command{Use: "token", Short: "Create, list, rotate and revoke tokens"}
	token.AddCommand(newTokenCreate(), remote.Listing(shell, "list", "List tokens, without their secrets", tokenColumns, api.ListTokens), newTokenRotate(), newTokenRevoke())
	admin.AddCommand(token, newAdminAudit(), newAdminWorker(), sharesShell.AdminCommand(), sharesShell.AccountCommand(), sharesShell.CreditCommand(), newAdminSupervisor(), newAdminBrake(), peopleShell.UserCommand())
	return admin
}

// shell is this program for the commands of other packages.
var shell = remote.Shell{
	Connect: func(cmd *cobra.Command) (remote.Farm, error) { return connect(cmd) },
	Dial:    dial, BindRepeat: bindRepeat,
}

// The commands about users, profiles and fair sharing.
var (
	hostSettingsShell = hostsettings.Shell{Shell: shell}
	orderShell        = joborder.Shell{Shell: shell}
	archiveShell      = archive.Shell{Shell: shell}
	peopleShell       = people.Shell{Shell: shell}
	profilesShell     = profiles.Shell{Shell: shell}
	licencesShell     = licences.Shell{Shell: shell}
	sharesShell       = shares.Shell{Shell: shell}
	whatifShell       = whatif.Shell{Shell: shell}
	treeShell         = tree.Shell{Shell: shell}
	summaryShell      = summary.Shell{Shell: shell, Unfinished: everybodysUnfinished}
)

func newTokenCreate() *cobra.Command {
	var req api.TokenRequest
	cmd := &cobra.Command{
		Use: "create", Short: "Create a token and print it; it cannot be printed again", Args: commandline.WantArgs(0, 0, ""),
		Example: "  qbadmin token create -user ada -role user -days 30",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if req.Role == string(api.Worker) {
				req.User = cmp.Or(req.User, string(api.Worker))
			}
			if req.User == "" || req.Role == "" {
				return api.Errorf(api.KindUsage, "give -user NAME and -role ROLE (admin, operator, user or read-only), or -role worker")
			}
			reply, err := ask[api.TokenReply](cmd, api.CreateToken, nil, req)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), reply.Token)
			fmt.Fprintf(cmd.ErrOrStderr(), "token %s of %s (%s), good until %s\n", reply.ID, output.Escape(reply.User), reply.Role, output.Moment(&reply.ExpiresAt))
			return nil
		},
	}
	cmd.Flags().StringVar(&req.User, "user", "", "`NAME` of the user of the token (default with -role worker: worker)")
	cmd.Flags().StringVar(&req.Role, "role", "", "`ROLE` of the token: admin, operator, user, read-only or worker")
	cmd.Flags().Var((*units.Days)(&req.Days), "days", "`DURATION` until the token expires, in whole days: 30 (days) or 30d (default 90)")
	return cmd
}

var tokenColumns = []output.Column[api.TokenInfo]{
	{Name: "id"},
	{Name: "user"},
	{Name: "role"},
	{Name: "state", Text: people.TokenState},
	{Name: "created_at"},
	{Name: "expires_at"},
	{Name: "last_used_at"},
	{Name: "uses_left", Extra: true},
	{Name: "session_of", Extra: true},
	{Name: "revoked", Extra: true},
}

func newTokenRotate() *cobra.Command {
	overlap := time.Hour
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Replace a token: print a new one of the same role; the old one expires soon", Args: commandline.WantArgs(1, 1, "token id"),
		Example: "  qbadmin token rotate 0123456789abcdef -overlap 24h > token && mv token ~/.config/qb/token",
		RunE: func(cmd *cobra.Command, ids []string) error {
			req := api.RotateRequest{OverlapSeconds: int(overlap.Seconds())}
			reply, err := ask[api.TokenReply](cmd, api.RotateToken, api.Params{"token": ids[0]}, req)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), reply.Token)
			fmt.Fprintf(cmd.ErrOrStderr(), "token %s of %s (%s), good until %s; %s ends in %s\n", reply.ID, output.Escape(reply.User), reply.Role, output.Moment(&reply.ExpiresAt),
				output.Escape(ids[0]), overlap)
			return nil
		},
	}
	cmd.Flags().Var((*units.Span)(&overlap), "overlap", "`DURATION` for which the old token remains valid")
	return cmd
}

func newTokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID…", Short: "Revoke tokens", Args: commandline.WantArgs(1, -1, "token id"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			c, err := connect(cmd)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := c.call(cmd.Context(), api.RevokeToken, api.Params{"token": id}, nil, nil); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: revoked\n", output.Escape(id))
			}
			return nil
		},
	}
}

// joinLine prints the line to paste on a new machine.
func joinLine(cmd *cobra.Command, ttl time.Duration, uses int) error {
	if ttl < time.Second {
		return api.Errorf(api.KindUsage, "-ttl %s: use 1s or more, such as 1h", ttl)
	}
	if uses < 1 || uses > 10_000 {
		return api.Errorf(api.KindUsage, "-uses %d: use 1 to 10000, the hosts that may join by the line", uses)
	}
	c, err := connect(cmd)
	if err != nil {
		return err
	}
	var ping api.Ping
	if err := c.call(cmd.Context(), api.PingFarm, nil, nil, &ping); err != nil {
		return err
	}
	if !strings.HasPrefix(ping.LeaderURL, "https:") {
		return api.Errorf(api.KindConflict, "the supervisor listens on its own machine only (%s): set supervisor_listen, such as 0.0.0.0:50001, and start it again", cmp.Or(ping.LeaderURL, "address unknown"))
	}
	req := api.TokenRequest{User: string(api.Worker), Role: string(api.Worker), TTLSeconds: int(ttl.Seconds()), Uses: uses}
	var reply api.TokenReply
	if err := c.call(cmd.Context(), api.CreateToken, nil, req, &reply); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "QB_TOKEN=%s qb worker -join %s\n", reply.Token, output.Escape(ping.LeaderURL))
	fmt.Fprintf(cmd.ErrOrStderr(), "token %s, good for %d hosts until %s; with several supervisors, write the addresses of all behind -join, with commas\n",
		reply.ID, uses, output.Moment(&reply.ExpiresAt))
	return nil
}

func newAdminWorker() *cobra.Command {
	var dead, remove, approve, configuration, reconfigure bool
	ttl, uses := time.Hour, 100
	cmd := &cobra.Command{
		Use: "worker HOST…|token", Short: "Print the line that joins workers, approve or remove hosts, or confirm that nothing runs on lost hosts", Args: commandline.WantArgs(1, -1, "host"),
		Long: "With token, print the line to paste on each new machine; whoever has it can add up to -uses hosts to the farm\n" +
			"until -ttl is over. With supervisor_approve_hosts each of them waits for -approve; qbhosts lists it with its key.\n" +
			"With names of hosts, approve or remove them, or confirm that nothing runs there.",
		Example: "  qbadmin worker token -ttl 1h -uses 20\n  qbadmin worker -confirm-dead rn42\n  qbadmin worker -remove rn42",
		RunE: func(cmd *cobra.Command, hosts []string) error {
			switch {
			case !remove && !dead && len(hosts) == 1 && hosts[0] == "token":
				return joinLine(cmd, ttl, uses)
			case configuration:
				return hostSettingsShell.Show(cmd, hosts)
			case reconfigure:
				return hostSettingsShell.Reconfigure(cmd, hosts)
			case approve:
				return hostOrder{api.ApproveHost, "approve", "approved", nil, new(output.Results)}.give(cmd, hosts)
			case remove:
				return removeHosts(cmd, hosts, dead)
			case !dead:
				return api.Errorf(api.KindUsage, "give -approve, -remove, or -confirm-dead when you have seen that nothing runs there any more")
			}
			return hostOrder{api.ConfirmDead, "confirm-dead", "confirmed dead", nil, new(output.Results)}.give(cmd, hosts)
		},
	}
	bindRepeat(cmd)
	cmd.Flags().BoolVar(&configuration, "configuration", false, "show the settings of hosts that supervisor_worker_configfile may set, and where each comes from")
	cmd.Flags().BoolVar(&reconfigure, "reconfigure", false, "reload supervisor_worker_configfile and qb.conf of the supervisor, and say what the hosts make of it; workers take it within seconds")
	cmd.Flags().Var((*units.Span)(&ttl), "ttl", "`DURATION` for which the line of token works")
	cmd.Flags().IntVar(&uses, "uses", uses, "`N` hosts may join by the line of token; a host that joins again is counted once")
	cmd.Flags().BoolVar(&approve, "approve", false, "let hosts join that wait for approval")
	cmd.Flags().BoolVar(&dead, "confirm-dead", false, "confirm that you checked that nothing runs there; the items run elsewhere")
	cmd.Flags().BoolVar(&remove, "remove", false, "remove hosts and revoke their credentials; items that may still run there are given up when the execution lease ends")
	return cmd
}

func removeHosts(cmd *cobra.Command, hosts []string, dead bool) error {
	c, err := connect(cmd)
	if err != nil {
		return err
	}
	for _, host := range hosts {
		var reply api.HostReply
		if err := c.Change(cmd.Context(), host, api.RemoveHost, api.Params{"host": host, "confirm_dead": strconv.FormatBool(dead)}, nil, &reply); err != nil {
			return err
		}
		if reply.Pending > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: its credentials are revoked; it is removed when its %d items are given up, in at most %s\n", output.Escape(host), reply.Pending,
				time.Duration(reply.WaitSeconds)*time.Second)
			continue
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: removed\n", output.Escape(host))
	}
	return nil
}
