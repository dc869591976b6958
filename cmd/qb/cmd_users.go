package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

// rightLetters are Qube's, in the three columns of qbusers -list: of the farm, of submissions, of jobs.
var rightLetters = [3][]struct {
	letter byte
	right  api.Rights // 0: to submit for other users
}{
	{{'a', api.MayAdmin}, {'s', api.MaySudo}, {'i', 0}, {'l', api.MayLock}},
	{{'j', api.MaySubmit}, {'o', api.MayReadLogs}, {'d', api.MaySee}},
	{
		{'k', api.MayKill}, {'r', api.MayRemove}, {'m', api.MayModify}, {'p', api.MayPreempt}, {'b', api.MayBlock},
		{'u', api.MayUnblock},
		{'i', api.MayInterrupt}, {'c', api.MayComplete}, {'s', api.MaySuspend}, {'e', api.MayResume}, {'y', api.MayRetry},
		{'q', api.MayRequeue},
		{'g', api.MayMigrate}, {'n', api.MayBump}, {'v', api.MayShove}, {'f', api.MayFail}, {'t', api.MayRetire},
	},
}

// spelledRights writes rights as letters, with - for each that is lacking.
func spelledRights(rights api.Rights, impersonates bool) string {
	var words []string
	for _, column := range rightLetters {
		var text []byte
		for _, one := range column {
			if one.right == 0 && !impersonates || !rights.Has(one.right) {
				one.letter = '-'
			}
			text = append(text, one.letter)
		}
		words = append(words, string(text))
	}
	return strings.Join(words, " ")
}

// rightsLegend says what the letters are, in the order in which they stand.
func rightsLegend() string {
	var columns []string
	for _, column := range rightLetters {
		var words []string
		for _, one := range column {
			words = append(words, fmt.Sprintf("%c %s", one.letter, cmp.Or(one.right.String(), "impersonate")))
		}
		columns = append(columns, strings.Join(words, ", "))
	}
	return "letters: " + strings.Join(columns, "; ") +
		". - is a right that the user lacks; [default] is every user who was not added"
}

// rightsChange is what qbusers is asked to do.
type rightsChange struct {
	list, add, remove, set, drop bool
	member, all, impersonate     bool
	group                        string
	rights                       map[api.Rights]*bool
	output                       output.ListOptions
}

// newUsersCommand is qbusers.
func newUsersCommand() *cobra.Command {
	o := &rightsChange{rights: map[api.Rights]*bool{}}
	cmd := &cobra.Command{
		Use:   "users [-list] | -add|-set|-drop|-delete [RIGHTS] USER…",
		Short: "List and change what users may do, right by right",
		Long: "List and change what users may do, right by right. -add adds users with the rights that are named, or with those of the role user;\n" +
			"-set gives users rights, -drop takes rights from them, -delete removes them. With -group NAME, -add and -set put them into a group\n" +
			"of users and -drop takes them out of it. The rights to jobs reach own jobs, and those of groups that a user leads; with sudo\n" +
			"they reach all. A right that is taken away acts at once. Nobody gives a right that he has not.\n\n" +
			"-list prints the letters of a user's rights: asil for admin, sudo, impersonate, lock; jod for submit_job, output, see;\n" +
			"krmpbuicseyqgnvft for kill, remove, modify, preempt, block, unblock, interrupt, complete, suspend, resume, retry, requeue,\n" +
			"migrate, bump, shove, fail, retire. Groups, leads and users to submit for are in qbadmin user list.",
		Example: "  qbusers -list\n  qbusers -add -submit_job -kill -modify ada\n  qbusers -set -lock ada bob\n  qbusers -drop -remove ada\n  qbusers -list -group fx",
		RunE:    func(cmd *cobra.Command, names []string) error { return runUsers(cmd, o, names) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.list, "list", false, "list users and their rights, [default] first: who was not added")
	flags.BoolVar(&o.add, "add", false, "add users")
	flags.BoolVar(&o.remove, "delete", false, "remove users, whose tokens end")
	flags.BoolVar(&o.set, "set", false, "give users the rights named")
	flags.BoolVar(&o.drop, "drop", false, "take the rights named from users")
	flags.StringVar(&o.group, "group", "", "group of users `NAME`: -list lists its members, -add and -set put users into it, -drop takes them out")
	flags.BoolVar(&o.member, "member", false, "with -list, print the groups of each user, too")
	flags.BoolVar(&o.all, "all", false, "all rights but admin, sudo and impersonate")
	flags.BoolVar(&o.impersonate, "impersonate", false, "right to submit for every user who has no more rights")
	for _, right := range api.AllRights {
		o.rights[right.Bit] = new(bool)
		flags.BoolVar(o.rights[right.Bit], right.Name, false, "right to "+right.Text)
	}
	flags.BoolVar(&o.output.JSON, "json", false, "with -list, print a JSON array of objects")
	flags.BoolVar(&o.output.XML, "xml", false,
		"with -list, print XML: a list of objects with the members of -json as elements")
	return cmd
}

// named are the rights that options name.
func (o *rightsChange) named() (rights api.Rights) {
	for right, given := range o.rights {
		if *given {
			rights |= right
		}
	}
	if o.all {
		rights |= api.UserRights
	}
	return rights
}

func runUsers(cmd *cobra.Command, o *rightsChange, names []string) error {
	given := 0
	for _, one := range []bool{o.list, o.add, o.remove, o.set, o.drop} {
		if one {
			given++
		}
	}
	switch {
	case given > 1:
		return api.Errorf(api.KindUsage, "-list, -add, -set, -drop and -delete exclude each other")
	case given == 0 && len(names) > 0:
		return api.Errorf(api.KindUsage, "give -add, -set, -drop or -delete to say what shall become of %s",
			output.Escape(names[0]))
	case o.list || given == 0:
		return listRights(cmd, o, names)
	}
	if err := commandline.WantArgs(1, -1, "user")(cmd, names); err != nil {
		return err
	}
	if (o.set || o.drop) && o.named() == 0 && !o.impersonate && o.group == "" {
		return api.Errorf(api.KindUsage, "nothing to change; name rights, such as -kill, or a group with -group")
	}
	return changeRights(cmd, o, names)
}

func listRights(cmd *cobra.Command, o *rightsChange, names []string) error {
	farm := connect(cmd)
	all, err := call[[]api.Person](cmd.Context(), farm, api.ListPeople, nil, nil)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(p api.Person) bool {
		return o.group != "" && !slices.Contains(p.Groups, o.group) || len(names) > 0 && !slices.Contains(names, p.Name)
	})
	if o.output.Whole() {
		return output.Print(cmd, "", o.output, userColumns, output.Rows(all))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "total %d\n", len(all))
	if o.group == "" && len(names) == 0 {
		ping, err := call[api.Ping](cmd.Context(), farm, api.PingFarm, nil, nil)
		if err != nil {
			return err
		}
		rights, _ := api.RightsOf(ping.DefaultRights)
		fmt.Fprintln(cmd.OutOrStdout(), spelledRights(rights, false), "[default]")
	}
	for _, p := range all {
		rights, _ := api.RightsOf(p.Rights)
		if p.Disabled || !p.Sealed {
			rights = 0
		}
		line := spelledRights(rights, len(p.SubmitAs) > 0) + " " + output.Escape(p.Name)
		if o.member {
			line += " " + output.Escape(cmp.Or(strings.Join(p.Groups, ","), "-"))
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
			return err
		}
	}
	switch {
	case len(all) > 0 || o.group == "" && len(names) == 0:
		fmt.Fprintln(cmd.ErrOrStderr(), rightsLegend())
	case len(names) > 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "no user that was added is called %s; qbusers -list shows those that were\n",
			output.Escape(units.Few(names)))
	default:
		fmt.Fprintf(cmd.ErrOrStderr(), "no user that was added is in the group %s\n", output.Escape(o.group))
	}
	return nil
}

// changeRights changes each user by itself. The supervisor refuses a change of a user whom another admin changed
// meanwhile.
func changeRights(cmd *cobra.Command, o *rightsChange, names []string) error {
	if o.remove {
		return forEachWord(cmd, names, api.RemovePerson, "user", "removed")
	}
	farm := connect(cmd)
	for _, name := range names {
		var reply api.Person
		var before api.Person
		var err error
		if o.add {
			req := api.PersonRequest{Name: name, Role: roleFor(o.named()), Rights: o.named().Names(), Groups: []string{},
				SubmitAs: submitsAs(o.impersonate)}
			if o.group != "" {
				req.Groups = []string{o.group}
			}
			if o.named() == 0 {
				req.Rights = nil
			}
			err = farm.Send(cmd.Context(), api.AddPerson, nil, req, &reply)
		} else if err = farm.Send(cmd.Context(), api.GetPerson, api.Params{"user": name}, nil, &before); err == nil {
			err = farm.Send(cmd.Context(), api.ChangePerson, api.Params{"user": name}, o.change(before), &reply)
		}
		if err != nil {
			return err
		}
		rights, _ := api.RightsOf(reply.Rights)
		fmt.Fprintln(cmd.OutOrStdout(), spelledRights(rights, len(reply.SubmitAs) > 0), output.Escape(reply.Name))
	}
	return nil
}

// change is what -set or -drop asks for of a user.
func (o *rightsChange) change(before api.Person) (change api.PersonChange) {
	rights, _ := api.RightsOf(before.Rights)
	if o.named() != 0 {
		if o.set {
			rights |= o.named()
		} else {
			rights &^= o.named()
		}
		names, role := rights.Names(), before.Role
		if o.set || o.named().Has(api.MayAdmin) || o.named().Has(api.MaySudo) {
			role = roleFor(rights)
		}
		change.Rights, change.Role = &names, &role
	}
	if o.impersonate {
		list := submitsAs(o.set)
		change.SubmitAs = &list
	}
	if o.group != "" {
		groups := slices.DeleteFunc(slices.Clone(before.Groups), func(name string) bool { return name == o.group })
		if o.set {
			groups = append(groups, o.group)
		}
		change.Groups = &groups
	}
	return change
}

// roleFor is the role that those rights go with.
func roleFor(rights api.Rights) string {
	switch {
	case rights.Has(api.MayAdmin):
		return string(api.Admin)
	case rights.Has(api.MaySudo):
		return string(api.Operator)
	}
	return string(api.User)
}

func submitsAs(all bool) []string {
	if all {
		return []string{"*"}
	}
	return []string{}
}
