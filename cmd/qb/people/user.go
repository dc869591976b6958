package people

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/cmd/qb/remote"
)

// Shell is the program that the commands belong to.
type Shell struct{ remote.Shell }

// UserCommand is qbadmin user.
func (s Shell) UserCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "user", Short: "Add, list, change and remove users, their groups and rights"}
	cmd.AddCommand(s.newAdd(), remote.Listing(s.Shell, "list", "List the users that were added", "no users were added; add one with qbadmin user add", columns, api.ListPeople), s.newSet(), s.newInvite(), s.newRemove())
	return cmd
}

// lists are the options with names of groups and users.
type lists struct{ groups, leads, submitAs []string }

func (l *lists) bind(cmd *cobra.Command) {
	l.groups, l.leads, l.submitAs = []string{}, []string{}, []string{} // never null
	cmd.Flags().Var((*output.NameList)(&l.groups), "groups", "`NAMES` of the groups of users that the user belongs to, separated by commas")
	cmd.Flags().Var((*output.NameList)(&l.leads), "leads", "`NAMES` of the groups whose members' jobs the user may change, kill and retry")
	cmd.Flags().Var((*output.NameList)(&l.submitAs), "submitas", "`NAMES` of the users for whom the user may submit; *: every user who is no operator or admin")
}

const roleUsage = "`ROLE` of the user: read-only, user, operator or admin"

func (s Shell) newAdd() *cobra.Command {
	var req api.PersonRequest
	var l lists
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a user with a role", Args: commandline.WantArgs(1, 1, "user"),
		Long: "Add a user with a role. Tokens that were made for the name before end. Without being added, each local user has the\n" +
			"role user, and others what their token says.",
		Example: "  qbadmin user add ada -role user -groups fx\n  qbadmin user add grace -role user -groups fx -leads fx\n  qbadmin user add pipeline -role user -submitas ada,bob",
		RunE: func(cmd *cobra.Command, words []string) error {
			req.Name, req.Groups, req.Leads, req.SubmitAs = words[0], l.groups, l.leads, l.submitAs
			if req.Role == "" {
				return api.Errorf(api.KindUsage, "give -role read-only, user, operator or admin")
			}
			return s.add(cmd, req)
		},
	}
	cmd.Flags().StringVar(&req.Role, "role", "", roleUsage)
	l.bind(cmd)
	return cmd
}

// add adds a user and prints how to log in from another machine, if the farm is open to any.
func (s Shell) add(cmd *cobra.Command, req api.PersonRequest) error {
	farm := s.Connect(cmd)
	reply, err := remote.Ask[api.Person](cmd.Context(), farm, api.AddPerson, nil, req)
	if err != nil {
		return err
	}
	if err := say(cmd, reply, "added"); err != nil {
		return err
	}
	url, err := served(cmd, farm)
	if err != nil || url == "" {
		return err
	}
	return invited(cmd, farm, url, reply.Name, time.Hour)
}

func say(cmd *cobra.Command, p api.Person, what string) error {
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

var columns = []output.Column[api.Person]{
	{Name: "name"},
	{Name: "role"},
	{Name: "state", Text: state},
	{Name: "rights", Extra: true},
	{Name: "groups"},
	{Name: "leads"},
	{Name: "submit_as"},
	{Name: "created_at"},
	{Name: "created_by", Extra: true},
}

func state(p api.Person) string {
	switch {
	case !p.Sealed:
		return "refused" // the row was changed in the database
	case p.Disabled:
		return "disabled"
	}
	return "good"
}

func (s Shell) newSet() *cobra.Command {
	var role string
	var disable, enable bool
	var l lists
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Change a user's role, groups or rights, disable a user or enable him again", Args: commandline.WantArgs(1, 1, "user"),
		Long: "Change a user's role, groups or rights, disable a user or enable him again. A list that is given replaces the former\n" +
			"one; '' empties it. With another role, or being disabled, the user's tokens end.",
		Example: "  qbadmin user set ada -groups fx,comp\n  qbadmin user set bob -role operator\n  qbadmin user set eve -disable",
		RunE: func(cmd *cobra.Command, words []string) error {
			change := changeOf(cmd, &role, l)
			switch {
			case disable && enable:
				return api.Errorf(api.KindUsage, "-disable and -enable exclude each other")
			case disable || enable:
				change.Disabled = &disable
			case change == (api.PersonChange{}):
				return api.Errorf(api.KindUsage, "nothing to change; give -role, -groups, -leads, -submitas, -disable or -enable")
			}
			reply, err := remote.Ask[api.Person](cmd.Context(), s.Connect(cmd), api.ChangePerson, api.Params{"user": words[0]}, change)
			if err != nil {
				return err
			}
			return say(cmd, reply, "changed")
		},
	}
	cmd.Flags().StringVar(&role, "role", "", roleUsage)
	l.bind(cmd)
	cmd.Flags().BoolVar(&disable, "disable", false, "refuse every request of the user")
	cmd.Flags().BoolVar(&enable, "enable", false, "take the user's requests again")
	return cmd
}

// changeOf has what was given, empty lists too.
func changeOf(cmd *cobra.Command, role *string, l lists) (change api.PersonChange) {
	if cmd.Flags().Changed("role") {
		change.Role = role
	}
	for name, place := range map[string]struct {
		list []string
		to   **[]string
	}{"groups": {l.groups, &change.Groups}, "leads": {l.leads, &change.Leads}, "submitas": {l.submitAs, &change.SubmitAs}} {
		if cmd.Flags().Changed(name) {
			*place.to = &place.list
		}
	}
	return change
}

func (s Shell) newRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME…", Short: "Remove users; their tokens end", Args: commandline.WantArgs(1, -1, "user"),
		Long: "Remove users; their tokens end. Their jobs stay. A local user without an entry has the role user again:\n" +
			"to refuse him, disable him, or leave him out of supervisor_users.",
		RunE: func(cmd *cobra.Command, names []string) error {
			return s.ForEach(cmd, names, api.RemovePerson, "user", "removed")
		},
	}
}
