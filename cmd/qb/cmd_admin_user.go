package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

// newAdminUser is qbadmin user.
func newAdminUser() *cobra.Command {
	cmd := &cobra.Command{Use: "user", Short: "Add, list, change and remove users, their groups and rights"}
	cmd.AddCommand(newAdminUserAdd(), newListing("list", "List the users that were added",
		"no users were added; add one with qbadmin user add", userColumns, api.ListPeople), newAdminUserSet(),
		newAdminUserInvite(), newAdminUserRemove())
	return cmd
}

// userLists are the options with names of groups and users.
type userLists struct{ groups, leads, submitAs []string }

func (l *userLists) bind(cmd *cobra.Command) {
	l.groups, l.leads, l.submitAs = []string{}, []string{}, []string{} // never null
	cmd.Flags().Var((*output.NameList)(&l.groups), "groups", "`NAMES` of the groups of users that the user belongs to, separated by commas")
	cmd.Flags().Var((*output.NameList)(&l.leads), "leads", "`NAMES` of the groups whose members' jobs the user may change, kill and retry")
	cmd.Flags().Var((*output.NameList)(&l.submitAs), "submitas", "`NAMES` of the users for whom the user may submit; *: every user who is no operator or admin")
}

const roleUsage = "`ROLE` of the user: read-only, user, operator or admin"

func newAdminUserAdd() *cobra.Command {
	var req api.PersonRequest
	var l userLists
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a user with a role", Args: commandline.WantArgs(1, 1, "user"),
		Long: "Add a user with a role. Tokens that were made for the name before end. Without being added, each local user has the\n" +
			"role user, and others what their token says.",
		Example: "  qbadmin user add ada -role user -groups fx\n  qbadmin user add grace -role user -groups fx -leads fx\n  qbadmin user add pipeline -role user -submitas ada,bob",
		RunE: func(cmd *cobra.Command, words []string) error {
			req.Name = words[0]
			req.Groups = l.groups
			req.Leads = l.leads
			req.SubmitAs = l.submitAs
			if req.Role == "" {
				return api.Errorf(api.KindUsage, "give -role read-only, user, operator or admin")
			}
			return addUser(cmd, req)
		},
	}
	cmd.Flags().StringVar(&req.Role, "role", "", roleUsage)
	l.bind(cmd)
	return cmd
}

// addUser adds a user and prints how to log in from another machine, if the farm is open to any.
func addUser(cmd *cobra.Command, req api.PersonRequest) error {
	farm := connect(cmd)
	reply, err := call[api.Person](cmd.Context(), farm, api.AddPerson, nil, req)
	if err != nil {
		return err
	}
	if err := sayUser(cmd, reply, "added"); err != nil {
		return err
	}
	url, err := servedURL(cmd, farm)
	if err != nil || url == "" {
		return err
	}
	return printInvitation(cmd, farm, url, reply.Name, time.Hour)
}

func sayUser(cmd *cobra.Command, p api.Person, what string) error {
	text := fmt.Sprintf("%s: %s, role %s", output.Escape(p.Name), what, p.Role)
	for _, part := range []struct {
		name string
		list []string
	}{{"groups", p.Groups}, {"leads", p.Leads}, {"submits as", p.SubmitAs}} {
		if len(part.list) > 0 {
			text += ", " + part.name + " " + output.Escape(strings.Join(part.list, ","))
		}
	}
	if p.Disabled {
		text += ", disabled"
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), text)
	return err
}

var userColumns = []output.Column[api.Person]{
	{Name: "name"},
	{Name: "role"},
	{Name: "state", Text: userState},
	{Name: "rights", Extra: true},
	{Name: "groups"},
	{Name: "leads"},
	{Name: "submit_as"},
	{Name: "created_at"},
	{Name: "created_by", Extra: true},
}

func userState(p api.Person) string {
	switch {
	case !p.Sealed:
		return "refused" // the row was changed in the database
	case p.Disabled:
		return "disabled"
	}
	return "good"
}

func newAdminUserSet() *cobra.Command {
	var role string
	var disable, enable bool
	var l userLists
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Change a user's role, groups or rights, disable a user or enable him again",
		Args: commandline.WantArgs(1, 1, "user"),
		Long: "Change a user's role, groups or rights, disable a user or enable him again. A list that is given replaces the former\n" +
			"one; '' empties it. With another role, or being disabled, the user's tokens end.",
		Example: "  qbadmin user set ada -groups fx,comp\n  qbadmin user set bob -role operator\n  qbadmin user set eve -disable",
		RunE: func(cmd *cobra.Command, words []string) error {
			change := userChange(cmd, &role, l)
			switch {
			case disable && enable:
				return api.Errorf(api.KindUsage, "-disable and -enable exclude each other")
			case disable || enable:
				change.Disabled = &disable
			case change == (api.PersonChange{}):
				return api.Errorf(api.KindUsage, "nothing to change; give -role, -groups, -leads, -submitas, -disable or -enable")
			}
			reply, err := ask[api.Person](cmd, api.ChangePerson, api.Params{"user": words[0]}, change)
			if err != nil {
				return err
			}
			return sayUser(cmd, reply, "changed")
		},
	}
	cmd.Flags().StringVar(&role, "role", "", roleUsage)
	l.bind(cmd)
	cmd.Flags().BoolVar(&disable, "disable", false, "refuse every request of the user")
	cmd.Flags().BoolVar(&enable, "enable", false, "take the user's requests again")
	return cmd
}

// userChange has what was given, empty lists too.
func userChange(cmd *cobra.Command, role *string, l userLists) (change api.PersonChange) {
	if cmd.Flags().Changed("role") {
		change.Role = role
	}
	for name, place := range map[string]struct {
		list []string
		to   **[]string
	}{"groups": {l.groups, &change.Groups}, "leads": {l.leads, &change.Leads},
		"submitas": {l.submitAs, &change.SubmitAs}} {
		if cmd.Flags().Changed(name) {
			*place.to = &place.list
		}
	}
	return change
}

func newAdminUserRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME…", Short: "Remove users; their tokens end", Args: commandline.WantArgs(1, -1, "user"),
		Long: "Remove users; their tokens end. Their jobs stay. A local user without an entry has the role user again:\n" +
			"to refuse him, disable him, or leave him out of supervisor_users.",
		RunE: func(cmd *cobra.Command, names []string) error {
			return forEachWord(cmd, names, api.RemovePerson, "user", "removed")
		},
	}
}

// newAdminUserInvite is qbadmin user invite.
func newAdminUserInvite() *cobra.Command {
	ttl := time.Hour
	cmd := &cobra.Command{
		Use: "invite NAME", Short: "Print the line and the code by which a user logs in from another machine, once",
		Args:    commandline.WantArgs(1, 1, "user"),
		Example: "  qbadmin user invite ada -ttl 2h",
		RunE: func(cmd *cobra.Command, words []string) error {
			farm := connect(cmd)
			url, err := servedURL(cmd, farm)
			if err != nil {
				return err
			}
			if url == "" {
				return api.Errorf(api.KindConflict, "%s", loopbackOnly)
			}
			return printInvitation(cmd, farm, url, words[0], ttl)
		},
	}
	cmd.Flags().Var((*units.Span)(&ttl), "ttl", "`DURATION` for which the code works, at most 7d")
	return cmd
}

const loopbackOnly = "no line for other machines: the supervisor listens on its own machine only; set supervisor_listen, such as 0.0.0.0:50001, and start it again. Users of this machine need no login"

// servedURL is the address for other machines, "" if there is none.
func servedURL(cmd *cobra.Command, farm sender) (string, error) {
	ping, err := call[api.Ping](cmd.Context(), farm, api.PingFarm, nil, nil)
	if err != nil || !strings.HasPrefix(ping.LeaderURL, "https:") {
		return "", err
	}
	return ping.LeaderURL, nil
}

// printInvitation prints what a user types and pastes.
func printInvitation(cmd *cobra.Command, farm sender, url, name string, ttl time.Duration) error {
	if ttl < time.Second || ttl > 7*24*time.Hour {
		return api.Errorf(api.KindUsage, "-ttl %s: use 1s to 7d, such as 1h", ttl)
	}
	code, err := call[api.TokenReply](cmd.Context(), farm, api.Invite, api.Params{"user": name},
		api.InviteRequest{TTLSeconds: int(ttl.Seconds())})
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "qb login %s\n%s\n", output.Escape(url), code.Token)
	fmt.Fprintf(cmd.ErrOrStderr(),
		"%s runs the first line on the other machine and pastes the second, which works once, until %s\n",
		output.Escape(name), output.Moment(&code.ExpiresAt))
	return nil
}
