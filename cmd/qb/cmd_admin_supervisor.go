package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

func newAdminSupervisor() *cobra.Command {
	cmd := &cobra.Command{
		Use: "supervisor", Aliases: []string{"s"},
		Short: "Make the supervisor reload its configuration or send a test mail, list the resources of the whole farm, or back it up", Args: commandline.WantArgs(0, 0, ""),
		Example: "  qbadmin supervisor -reread\n  qbadmin supervisor -resource\n  qbadmin supervisor -emailtest ada@studio.example\n  qbadmin supervisor -backup /backups/qb.dump",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var given []*pflag.Flag
			cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				if f.Changed && f.Value.String() != "false" {
					given = append(given, f)
				}
			})
			if len(given) != 1 {
				return api.Errorf(api.KindUsage,
					"give -reread, -resource, -emailtest ADDRESS, -list, -configuration or -backup FILE, one of them")
			}
			switch option := given[0]; option.Name {
			case "reread":
				return reread(cmd)
			case "resource":
				return listResources(cmd)
			case "emailtest":
				return testMail(cmd, option.Value.String())
			case "list":
				return runAs(cmd, "ping")
			case "configuration":
				return runAs(cmd, "config", "show", "--origin")
			default:
				return runAs(cmd, "backup", "--", option.Value.String())
			}
		},
	}
	cmd.Flags().Bool("reread", false, "reload the file; if it has errors, the old configuration stays in force")
	cmd.Flags().Bool("resource", false,
		"list resources of the whole farm, such as licences, with their use (as qb resources does)")
	cmd.Flags().String("emailtest", "", "send a test mail to `ADDRESS` by mail_host, and print what the mail server answers")
	cmd.Flags().Bool("list", false, "name the supervisor and its limits (as qbping does)")
	cmd.Flags().Bool("configuration", false,
		"print the settings in force and where each comes from, secrets left out (as qb config show -origin does)")
	cmd.Flags().String("backup", "", "write a backup of the database to `FILE`; on a machine that reaches the database (as qb backup does)")
	return cmd
}

// runAs runs the command of qb's that an option means in Qube!, under the name that Qube has for it.
func runAs(cmd *cobra.Command, words ...string) error {
	to, args, err := cmd.Root().Find(words)
	if err != nil {
		return err
	}
	if err := to.ParseFlags(args); err != nil {
		return err
	}
	to.SetContext(cmd.Context())
	return to.RunE(to, to.Flags().Args())
}

func reread(cmd *cobra.Command) error {
	reply, err := ask[api.RereadReply](cmd, api.Reread, nil, nil)
	if err != nil {
		return err
	}
	from, changed := "defaults and environment", "nothing has changed"
	if reply.File != "" {
		from = reply.File
	}
	if len(reply.Changed) > 0 {
		changed = "in force: " + strings.Join(reply.Changed, ", ")
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s read again; %s\n", output.Escape(from), output.Escape(changed))
	remark(cmd, reply.Remarks)
	return nil
}

// testMail has the supervisor send a mail. It fails if the mail server does not take it.
func testMail(cmd *cobra.Command, address string) error {
	reply, err := ask[api.MailTestReply](cmd, api.TestMail, nil, api.MailTest{Address: address})
	if err != nil {
		return err
	}
	if !reply.Accepted {
		return api.Errorf(api.KindConflict, "%s did not take the mail: %s", output.Escape(reply.Server),
			output.Escape(reply.Answer))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s has taken the mail to %s: %s\n", output.Escape(reply.Server),
		output.Escape(address), output.Escape(reply.Answer))
	return nil
}
