package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

// newAdminAccount is qbadmin account.
func newAdminAccount() *cobra.Command {
	cmd := &cobra.Command{Use: "account", Short: "Add, list and remove accounts and their members"}
	cmd.AddCommand(newAdminAccountAdd(), newListing("list", "List accounts and their members",
		"there are no accounts; add one with qbadmin account add", accountColumns, api.ListAccounts), newAdminAccountRemove(),
		newAdminAccountImport())
	return cmd
}

// bindMembers binds the options with members to an account.
func bindMembers(cmd *cobra.Command, to *api.Account) {
	cmd.Flags().Var((*output.NameList)(&to.Users), "users", "`NAMES` of members, separated by commas; *: everybody")
	cmd.Flags().Var((*output.NameList)(&to.Groups), "groups", "`NAMES` of groups whose users are members: of qbadmin user, or of the supervisor's machine")
	cmd.Flags().Var((*output.NameList)(&to.DefaultFor), "default-for", "`NAMES` of members whose jobs name no account; *: everybody without a default of their own")
}

func newAdminAccountAdd() *cobra.Command {
	var req api.Account
	cmd := &cobra.Command{
		Use: "add PATH", Short: "Add an account, or members to one", Args: commandline.WantArgs(1, 1, "account"),
		Long: "Add an account such as show, or show/shot in it, or members to an account that is there. Members of show are not members\n" +
			"of show/shot: each account has its own. A default that a user has elsewhere is taken over.",
		Example: "  qbadmin account add show -users ada,bob -groups fx\n  qbadmin account add show/shot -users ada -default-for ada\n  qbadmin account add misc -default-for '*'",
		RunE: func(cmd *cobra.Command, words []string) error {
			req.Path = words[0]
			return sayChange(cmd, words[0], api.AddAccount, nil, req, accountText)
		},
	}
	bindMembers(cmd, &req)
	bindRepeat(cmd)
	return cmd
}

func accountText(a api.Account) string {
	text := output.Escape(a.Path)
	for _, part := range []struct {
		what string
		list []string
	}{{"users", a.Users}, {"groups", a.Groups}, {"default for", a.DefaultFor}} {
		if len(part.list) > 0 {
			text += "; " + part.what + " " + output.Escape(strings.Join(part.list, ","))
		}
	}
	return text
}

func newAdminAccountRemove() *cobra.Command {
	var req api.Account
	cmd := &cobra.Command{
		Use: "remove PATH", Short: "Remove members of an account or, without options, the account",
		Args: commandline.WantArgs(1, 1, "account"),
		Long: "Remove members of an account or, without options, the account. Its unfinished jobs go on; their owners then are ranked\n" +
			"by what they used outside of accounts.",
		Example: "  qbadmin account remove show -users bob\n  qbadmin account remove show",
		RunE: func(cmd *cobra.Command, words []string) error {
			req.Path = words[0]
			whole := len(req.Users)+len(req.Groups)+len(req.DefaultFor) == 0
			if whole && (cmd.Flags().Changed("users") || cmd.Flags().Changed("groups") || cmd.Flags().Changed("default-for")) {
				return api.Errorf(api.KindUsage, "give at least one name; without options the whole account is removed")
			}
			text := accountText
			if whole {
				text = func(a api.Account) string { return output.Escape(a.Path) + ": removed" }
			}
			return sayChange(cmd, words[0], api.DropAccount, nil, req, text)
		},
	}
	bindMembers(cmd, &req)
	bindRepeat(cmd)
	return cmd
}

var accountColumns = []output.Column[api.Account]{
	{Name: "path"},
	{Name: "users"},
	{Name: "groups"},
	{Name: "default_for"},
	{Name: "by", Extra: true},
	{Name: "at", Extra: true},
}

func newAdminAccountImport() *cobra.Command {
	var o output.ListOptions
	var history, add bool
	cmd := &cobra.Command{
		Use: "import", Short: "List accounts of past jobs that are not known, and add them",
		Args: commandline.WantArgs(0, 0, ""),
		Long: "List the accounts to which past jobs were charged and that are not known, with the users who were. With -add they are added with these\n" +
			"users as members, and what is above them without: all at once, or none if one cannot be an account.",
		Example: "  qbadmin account import -history\n  qbadmin account import -history -add",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !history:
				return api.Errorf(api.KindUsage, "give -history: the accounts to which past jobs were charged")
			case !add:
				return listRows(cmd, "no job of the past names an account that is not added already", o, pastColumns,
					api.PastAccounts, nil)
			}
			return importPastAccounts(cmd)
		},
	}
	cmd.Flags().BoolVar(&history, "history", false, "accounts to which past jobs were charged, with the users who were")
	cmd.Flags().BoolVar(&add, "add", false,
		"add them, with these users as members; what is above them is added without members")
	o.Bind(cmd.Flags())
	bindRepeat(cmd)
	return cmd
}

var pastColumns = []output.Column[api.PastAccount]{
	{Name: "path"},
	{Name: "users"},
}

// mostImported is how many accounts one order adds.
const mostImported = 1000

// importPastAccounts adds the accounts of past jobs, and those above them without members: all of them, or none.
func importPastAccounts(cmd *cobra.Command) error {
	past, err := ask[[]api.PastAccount](cmd, api.PastAccounts, nil, nil)
	if err != nil {
		return err
	}
	users := map[string][]string{}
	for _, p := range past {
		for at, r := range p.Path {
			if above := p.Path[:at]; r == '/' && users[above] == nil {
				users[above] = []string{}
			}
		}
		users[p.Path] = p.Users
	}
	switch {
	case len(users) == 0:
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "no accounts to add: all to which past jobs were charged are known")
		return err
	case len(users) > mostImported:
		return api.Errorf(api.KindInvalid,
			"there are %d accounts of past jobs; at most %d are added at once. Add those that are real: qbadmin account add",
			len(users), mostImported)
	}
	var add []api.Account
	for _, path := range slices.Sorted(maps.Keys(users)) { // an account comes before those below it
		add = append(add, api.Account{Path: path, Users: users[path]})
	}
	return sayChange(cmd, "account import", api.AddAccounts, nil, add, func(api.AccountsReply) string {
		lines := make([]string, len(add))
		for n, a := range add {
			lines[n] = accountText(a)
		}
		return strings.Join(lines, "\n")
	})
}
