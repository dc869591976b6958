package hostsettings

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/cmd/qb/remote"
)

// Shell is the program that the commands belong to.
type Shell struct{ remote.Shell }

var columns = []output.Column[api.Setting]{{Name: "key"}, {Name: "value"}, {Name: "origin"}}

// Show prints the settings of hosts.
func (s Shell) Show(cmd *cobra.Command, hosts []string) error {
	for _, host := range hosts {
		show, err := s.of(cmd, host)
		if err != nil {
			return err
		}
		if len(hosts) > 1 {
			fmt.Fprintf(cmd.OutOrStdout(), "%s:\n", output.Escape(host))
		}
		if err := output.Print(cmd.OutOrStdout(), output.ListOptions{}, columns, func() ([]api.Setting, error) { return show.Settings, nil }); err != nil {
			return err
		}
		remarks(cmd.ErrOrStderr(), show)
	}
	return nil
}

func (s Shell) of(cmd *cobra.Command, host string) (show api.HostSettings, err error) {
	err = s.Send(cmd, api.HostConfiguration, api.Params{"host": host}, nil, &show)
	return show, err
}

// remarks are what a listing does not tell.
func remarks(out io.Writer, show api.HostSettings) {
	for _, one := range show.Ignored {
		fmt.Fprintf(out, "%s: [%s] sets %s = %s, but its own qb.conf does, too, and counts\n", output.Escape(show.Host), output.Escape(one.Origin), output.Escape(one.Key), output.Escape(one.Value))
	}
	switch {
	case show.Error != "":
		fmt.Fprintf(out, "%s: takes nothing of the supervisor's file: %s\n", output.Escape(show.Host), output.Escape(show.Error))
	case show.Pending:
		fmt.Fprintf(out, "%s: has not taken the supervisor's file in its present form yet\n", output.Escape(show.Host))
	}
}

// Workers take the file with their next sync, which is held for a few seconds.
const (
	takenWithin = 30 * time.Second
	askAgain    = 250 * time.Millisecond
)

// Reconfigure has the supervisor read its files again, and waits until the hosts have taken what they say.
func (s Shell) Reconfigure(cmd *cobra.Command, hosts []string) error {
	var reply api.RereadReply
	if err := s.Send(cmd, api.Reread, nil, nil, &reply); err != nil {
		return err
	}
	for _, host := range hosts {
		show, err := s.of(cmd, host)
		for began := time.Now(); err == nil && show.Pending && time.Since(began) < takenWithin; show, err = s.of(cmd, host) {
			select {
			case <-cmd.Context().Done():
				return cmd.Context().Err()
			case <-time.After(askAgain):
			}
		}
		if err != nil {
			return err
		}
		if !show.Pending && show.Error == "" {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: goes by the supervisor's file\n", output.Escape(host))
		}
		remarks(cmd.ErrOrStderr(), show)
		if show.Pending || show.Error != "" {
			return api.Errorf(api.KindConflict, "%s has not taken the supervisor's file", output.Escape(host))
		}
	}
	return nil
}
