package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"qb/cmd/qb/output"
)

func newPingCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "ping", Short: "Show which supervisor leads, and who you are to it", Args: wantArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := connect(cmd)
			if err != nil {
				return err
			}
			p, err := c.ping()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd, p)
			}
			leads := "does not lead"
			if p.Leader {
				leads = fmt.Sprintf("leads term %d", p.Epoch)
			} else if p.LeaderURL != "" {
				leads = "stands by, " + output.Escape(p.LeaderURL) + " leads"
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: supervisor on %s %s; %d hosts, %d slots; you are %s (%s)\n",
				c.url, output.Escape(p.Supervisor), leads, p.Hosts, p.Slots, output.Escape(p.User), p.Role)
			if p.Trouble != "" {
				fmt.Fprintln(cmd.OutOrStdout(), output.Escape(p.Trouble))
			}
			if p.Brake != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "brake engaged: %s; qbadmin brake -release ends it\n", output.Escape(p.Brake))
			}
			for _, limit := range p.Limits {
				fmt.Fprintln(cmd.OutOrStdout(), output.Escape(limit.Text))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func printJSON(cmd *cobra.Command, v any) error {
	data, err := output.EncodeJSON(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), string(data))
	return err
}
