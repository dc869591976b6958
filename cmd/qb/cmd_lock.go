package main

import (
	"maps"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qb/agenda"
	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

// newLockCommand makes `qb lock` or `qb unlock`.
func newLockCommand(lock bool) *cobra.Command {
	order := hostRequest{endpoint: api.UnlockHost, name: "unlock", done: "unlocked", results: new(output.Results)}
	short, part := "Unlock hosts: they get new items again", ""
	if lock {
		order.endpoint = api.LockHost
		order.name = "lock"
		order.done = "locked"
		short, part = "Lock hosts: they get no new items; running items continue",
			"\nWith -slots N, only N slots of each host are locked, whatever was locked before; qbunlock unlocks all of them."
	}
	var choice hostChoice
	var locked lockOptions
	var all bool
	cmd := &cobra.Command{
		Use: order.name + " [HOST…]", Short: short, Long: short + "." + part +
			"\nOptions choose among the hosts named, or among all.",
		Example: "  qb" + order.name + " rn01 rn02\n  qb" + order.name + " -cluster '/show*' -active",
		RunE: func(cmd *cobra.Command, hosts []string) (err error) {
			if err := order.results.Check(); err != nil {
				return err
			}
			if order.params, err = locked.params(); err != nil {
				return err
			}
			switch {
			case all && len(hosts) > 0:
				return api.Errorf(api.KindUsage, "-all stands for every host; do not name others beside it")
			case !all && !choice.Given():
				if err := commandline.WantArgs(1, -1, "host")(cmd, hosts); err != nil {
					return err
				}
			default:
				if hosts, err = namesOfChosen(cmd, hosts, &choice); err != nil {
					return err
				}
			}
			return order.results.Flush(cmd.OutOrStdout(), order.give(cmd, hosts))
		},
	}
	choice.Bind(cmd.Flags())
	order.results.Bind(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, order.name+" every host")
	if lock {
		locked.bind(cmd.Flags())
	}
	bindRepeat(cmd)
	return cmd
}

// namesOfChosen are the names of the hosts among these, or among all, that pass the options; at least one.
func namesOfChosen(cmd *cobra.Command, hosts []string, choice *hostChoice) (names []string, err error) {
	c := connect(cmd)
	chosen, err := chosenHosts(cmd, c, hosts, choice)
	if err != nil {
		return nil, err
	}
	if len(chosen) == 0 {
		return nil, api.Errorf(api.KindConflict,
			"nothing affected: no host passes the options; qbhosts with the same shows which do")
	}
	for _, h := range chosen {
		names = append(names, h.Name)
	}
	return names, nil
}

// lockOptions is how much of each host is locked, and what happens to what runs there.
type lockOptions struct {
	slots int
	named string // slots, as numbers
	purge bool
}

func (p *lockOptions) bind(flags *pflag.FlagSet) {
	flags.IntVar(&p.slots, "slots", 0, "lock `N` slots of each host; 0: the whole host")
	flags.StringVar(&p.named, "range", "", "lock as many slots as the `RANGE` has numbers, such as 0-3; slots themselves have none")
	flags.BoolVar(&p.purge, "purge", false,
		"stop the items that run on what is locked, secondary instances first; they run elsewhere and no retry is used")
}

// params are the parameters of the lock, nil without options. It refuses contradictory options and negative numbers.
func (p *lockOptions) params() (api.Params, error) {
	if *p == (lockOptions{}) {
		return nil, nil // whole hosts; no other order has these
	}
	slots := p.slots
	if p.named != "" {
		if slots != 0 {
			return nil, api.Errorf(api.KindUsage, "-slots and -range both say how many slots to lock; give one of them")
		}
		names, err := agenda.Parse(agenda.Spec{Range: p.named}, api.MaxHostSlots)
		if err != nil {
			return nil, api.Errorf(api.KindUsage, "-range %s: %v", output.Escape(p.named), err)
		}
		slots = names.Len()
	}
	if slots < 0 {
		return nil, api.Errorf(api.KindUsage,
			"-slots %d is negative; give a number from 0 (the whole host), and unlock slots with qbunlock", slots)
	}
	return api.Params{"slots": strconv.Itoa(slots), "purge": strconv.FormatBool(p.purge)}, nil
}

// hostRequest is an order to hosts, one after the other.
type hostRequest struct {
	endpoint   api.Endpoint
	name, done string // such as lock, locked
	params     api.Params
	results    *output.Results
	drains     bool // says how many items go on
}

func (o hostRequest) give(cmd *cobra.Command, hosts []string) error {
	c := connect(cmd)
	affected := 0
	for _, host := range hosts {
		params := api.Params{"host": host}
		maps.Copy(params, o.params)
		var reply api.HostReply
		if err := c.Change(cmd.Context(), host, o.endpoint, params, nil, &reply); err != nil {
			return err
		}
		line := output.Escape(host) + ": " + o.done
		if reply.Stopped > 0 {
			line += ", " + strconv.Itoa(reply.Stopped) + " stopped"
		}
		if o.drains {
			line += "; " + strconv.Itoa(reply.Running) + " still running"
		}
		if reply.Affected > 0 {
			if err := o.results.Add(cmd.OutOrStdout(), output.Result{Host: host, Action: o.name, Affected: 1},
				line); err != nil {
				return err
			}
		}
		affected += reply.Affected
	}
	if affected == 0 {
		return api.Errorf(api.KindConflict, "nothing affected: %s already %s", output.Escape(strings.Join(hosts, ", ")),
			o.done)
	}
	return nil
}
