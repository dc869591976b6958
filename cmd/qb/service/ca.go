package service

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"qb/cmd/qb/commandline"
	"qb/internal/units"
	"qb/supervisor/access/certs"
	"qb/supervisor/wire/settings"
)

func newCACommand() *cobra.Command {
	ca := &cobra.Command{Use: "ca", Short: "Show or replace the farm's certificate authority (CA)"}
	ca.AddCommand(newCAShow(), newCARotate())
	return ca
}

func newCAShow() *cobra.Command {
	var state string
	var pem bool
	cmd := &cobra.Command{
		Use: "show", Short: "Print the fingerprint of the farm's CA, or its certificate",
		Args: commandline.WantArgs(0, 0, ""),
		Long: "Print the fingerprint of the farm's CA, which tokens for the network carry, and how long it is valid. With -pem,\n" +
			"print its certificate, for other programs such as curl. Run it on the supervisor's machine as its user.",
		Example: "  qb ca show\n  qb ca show -pem > farm-ca.crt",
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := serviceConfig(cmd, state, "")
			if err != nil {
				return err
			}
			ca, err := certs.Look(conf.SupervisorKeys.State)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if pem {
				_, err = out.Write(ca.PEM)
				return err
			}
			fmt.Fprintf(out, "%s valid until %s\n", ca.Fingerprint, ca.Until.UTC().Format(time.DateOnly))
			for _, former := range slices.Sorted(maps.Keys(ca.Former)) {
				fmt.Fprintf(out, "%s former CA, trusted until %s\n", former, ca.Former[former].UTC().Format(time.DateTime))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "`DIR` with the supervisor's files (default: supervisor_state, then QB_STATE)")
	cmd.Flags().BoolVar(&pem, "pem", false, "print the certificate as PEM")
	return cmd
}

func newCARotate() *cobra.Command {
	var state string
	overlap := 30 * settings.Day
	cmd := &cobra.Command{
		Use: "rotate", Short: "Replace the farm's CA; workers and tokens of the former one remain valid for a while",
		Args: commandline.WantArgs(0, 0, ""),
		Long: "Replace the farm's CA. The running supervisor uses the new one within 10 s; items continue. During -overlap the\n" +
			"former CA is trusted too: workers that report in this time learn the new one, and tokens that carry the former\n" +
			"fingerprint remain usable. -overlap 0s, after a theft of its key: the former CA is not trusted from now on, and every\n" +
			"worker on another machine joins again. Copy the folder tls to the farm's other supervisors.",
		Example: "  qb ca rotate -overlap 30d",
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := serviceConfig(cmd, state, "")
			if err != nil {
				return err
			}
			fingerprint, err := certs.Rotate(conf.SupervisorKeys.State, overlap)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is the farm's CA now; the former one is trusted until %s\n", fingerprint,
				time.Now().Add(overlap).UTC().Format(time.DateTime))
			return err
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "`DIR` with the supervisor's files (default: supervisor_state, then QB_STATE)")
	cmd.Flags().Var((*units.Span)(&overlap), "overlap", "`DURATION` for which the former CA is trusted beside the new one; 0s: not at all")
	return cmd
}
