package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

func newAdminSupervisor() *cobra.Command {
	var reread, resource bool
	var address string
	cmd := &cobra.Command{
		Use: "supervisor", Short: "Make the supervisor reload its configuration or send a test mail, or list the resources of the whole farm", Args: commandline.WantArgs(0, 0, ""),
		Example: "  qbadmin supervisor -reread\n  qbadmin supervisor -resource\n  qbadmin supervisor -emailtest ada@studio.example",
		RunE: func(cmd *cobra.Command, _ []string) error {
			mail := cmd.Flags().Changed("emailtest")
			switch {
			case resource && !reread && !mail:
				return licencesShell.List(cmd)
			case mail && !reread && !resource:
				return testMail(cmd, address)
			case resource || mail || !reread:
				return api.Errorf(api.KindUsage, "give -reread, -resource or -emailtest ADDRESS, one of them")
			}
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
		},
	}
	cmd.Flags().BoolVar(&reread, "reread", false, "reload the file; if it has errors, the old configuration stays in force")
	cmd.Flags().BoolVar(&resource, "resource", false, "list resources of the whole farm, such as licences, with their use (as qb resources does)")
	cmd.Flags().StringVar(&address, "emailtest", "", "send a test mail to `ADDRESS` by mail_host, and print what the mail server answers")
	return cmd
}

// testMail has the supervisor send a mail. It fails if the mail server does not take it.
func testMail(cmd *cobra.Command, address string) error {
	reply, err := ask[api.MailTestReply](cmd, api.TestMail, nil, api.MailTest{Address: address})
	if err != nil {
		return err
	}
	if !reply.Accepted {
		return api.Errorf(api.KindConflict, "%s did not take the mail: %s", output.Escape(reply.Server), output.Escape(reply.Answer))
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s has taken the mail to %s: %s\n", output.Escape(reply.Server), output.Escape(address), output.Escape(reply.Answer))
	return nil
}

func newAdminBrake() *cobra.Command {
	var release bool
	cmd := &cobra.Command{
		Use: "brake", Short: "Release the mass-failure brake: items of hosts that fell silent together run elsewhere", Args: commandline.WantArgs(0, 0, ""),
		Example: "  qbadmin brake -release",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !release {
				return api.Errorf(api.KindUsage, "give -release; qbping says whether the brake is engaged")
			}
			if _, err := ask[api.BrakeReply](cmd, api.ReleaseBrake, nil, nil); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "brake: released")
			return nil
		},
	}
	cmd.Flags().BoolVar(&release, "release", false, "move the items of silent hosts when their lease ends")
	return cmd
}
