package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

// joinLine prints the line to paste on a new machine.
func joinLine(cmd *cobra.Command, ttl time.Duration, uses int) error {
	if ttl < time.Second {
		return api.Errorf(api.KindUsage, "-ttl %s: use 1s or more, such as 1h", ttl)
	}
	if uses < 1 || uses > 10_000 {
		return api.Errorf(api.KindUsage, "-uses %d: use 1 to 10000, the hosts that may join by the line", uses)
	}
	c := connect(cmd)
	ping, err := c.ping()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(ping.LeaderURL, "https:") {
		return api.Errorf(api.KindConflict,
			"the supervisor listens on its own machine only (%s): set supervisor_listen, such as 0.0.0.0:50001, and start it again", cmp.Or(ping.LeaderURL, "address unknown"))
	}
	req := api.TokenRequest{User: string(api.Worker), Role: string(api.Worker), TTLSeconds: int(ttl.Seconds()), Uses: uses}
	reply, err := call[api.TokenReply](cmd.Context(), c, api.CreateToken, nil, req)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "QB_TOKEN=%s qb worker -join %s\n", reply.Token, output.Escape(ping.LeaderURL))
	fmt.Fprintf(cmd.ErrOrStderr(),
		"token %s, good for %d hosts until %s; with several supervisors, write the addresses of all behind -join, with commas\n",
		reply.ID, uses, output.Moment(&reply.ExpiresAt))
	return nil
}

// workerCommands are what `qbadmin worker` does with hosts; at most one of them at a time.
type workerCommands struct {
	drain, undrain, assignments, configuration, reconfigure, restart, approve, dead, remove bool
}

func newAdminWorker() *cobra.Command {
	var o workerCommands
	ttl, uses := time.Hour, 100
	cmd := &cobra.Command{
		Use: "worker HOST…|token", Aliases: []string{"w"},
		Short: "Print the line that joins workers; drain, restart, approve or remove hosts, or confirm that nothing runs on lost ones", Args: commandline.WantArgs(1, -1, "host"),
		Long: "With token, print the line to paste on each new machine; whoever has it can add up to -uses hosts to the farm\n" +
			"until -ttl is over. With supervisor_approve_hosts each of them waits for -approve; qbhosts lists it with its key.\n" +
			"With names of hosts, do with them what one of the options says.",
		Example: "  qbadmin worker token -ttl 1h -uses 20\n  qbadmin worker -drain rn01 rn02\n  qbadmin worker -confirm-dead rn42\n  qbadmin worker -remove rn42",
		RunE: func(cmd *cobra.Command, hosts []string) error {
			if o == (workerCommands{}) && len(hosts) == 1 && hosts[0] == "token" {
				return joinLine(cmd, ttl, uses)
			}
			return o.give(cmd, hosts)
		},
	}
	bindRepeat(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&o.drain, "drain", false,
		"hosts take no new items, as by qblock; those that run end there. -undrain or qbunlock ends it")
	flags.BoolVar(&o.undrain, "undrain", false, "drained or locked hosts take items again, as by qbunlock")
	flags.BoolVar(&o.assignments, "assignments", false, "list the instances that run on hosts")
	flags.BoolVar(&o.configuration, "configuration", false,
		"show the settings of hosts that supervisor_worker_configfile may set, and where each comes from")
	flags.BoolVar(&o.reconfigure, "reconfigure", false,
		"reload supervisor_worker_configfile and qb.conf of the supervisor, and say what the hosts make of it; workers take it within seconds")
	flags.BoolVar(&o.restart, "restart", false,
		"start the workers of hosts again, one after another; they read their qb.conf, and items run on. One whose qb.conf has an error goes on as it was, and the command ends there")
	flags.Var((*units.Span)(&ttl), "ttl", "`DURATION` for which the line of token works")
	flags.IntVar(&uses, "uses", uses, "`N` hosts may join by the line of token; a host that joins again is counted once")
	flags.BoolVar(&o.approve, "approve", false, "let hosts join that wait for approval")
	flags.BoolVar(&o.dead, "confirm-dead", false,
		"confirm that you checked that nothing runs there; the items run elsewhere")
	flags.BoolVar(&o.remove, "remove", false,
		"remove hosts and revoke their credentials; items that may still run there are given up when the execution lease ends")
	return cmd
}

// give does what the one option that is given says.
func (o workerCommands) give(cmd *cobra.Command, hosts []string) error {
	order := func(e api.Endpoint, name, done string) func() error {
		return func() error {
			return hostRequest{endpoint: e, name: name, done: done, results: new(output.Results),
				drains: name == "drain"}.give(cmd, hosts)
		}
	}
	var chosen []string
	var act func() error
	for _, one := range []struct {
		given bool
		name  string
		act   func() error
	}{
		{o.drain, "-drain", order(api.LockHost, "drain", "draining")},
		{o.undrain, "-undrain", order(api.UnlockHost, "undrain", "undrained")},
		{o.assignments, "-assignments", func() error { return listInstances(cmd, output.ListOptions{}, hosts, nil) }},
		{o.configuration, "-configuration", func() error { return showHostSettings(cmd, hosts) }},
		{o.reconfigure, "-reconfigure", func() error { return reconfigureHosts(cmd, hosts) }},
		{o.restart, "-restart", func() error { return restartHosts(cmd, hosts) }},
		{o.approve, "-approve", order(api.ApproveHost, "approve", "approved")},
		{o.remove, "-remove", func() error { return removeHosts(cmd, hosts, o.dead) }},
		{o.dead && !o.remove, "-confirm-dead", order(api.ConfirmDead, "confirm-dead", "confirmed dead")},
	} {
		if one.given {
			chosen, act = append(chosen, one.name), one.act
		}
	}
	switch len(chosen) {
	case 0:
		return api.Errorf(api.KindUsage,
			"say what to do with the hosts: give -drain, -undrain, -assignments, -configuration, -reconfigure, -restart, -approve, -remove, or -confirm-dead when you have seen that nothing runs there any more")
	case 1:
		return act()
	}
	return api.Errorf(api.KindUsage, "%s exclude each other; give one", strings.Join(chosen, " and "))
}

func removeHosts(cmd *cobra.Command, hosts []string, dead bool) error {
	c := connect(cmd)
	for _, host := range hosts {
		var reply api.HostReply
		if err := c.Change(cmd.Context(), host, api.RemoveHost,
			api.Params{"host": host, "confirm_dead": strconv.FormatBool(dead)}, nil, &reply); err != nil {
			return err
		}
		if reply.Pending > 0 {
			fmt.Fprintf(cmd.OutOrStdout(),
				"%s: its credentials are revoked; it is removed when its %d items are given up, in at most %s\n",
				output.Escape(host), reply.Pending,
				time.Duration(reply.WaitSeconds)*time.Second)
			continue
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: removed\n", output.Escape(host))
	}
	return nil
}
