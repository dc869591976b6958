package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/internal/pause"
)

var hostSettingColumns = []output.Column[api.Setting]{{Name: "key"}, {Name: "value"}, {Name: "origin"}}

// showHostSettings prints the settings of hosts.
func showHostSettings(cmd *cobra.Command, hosts []string) error {
	for _, host := range hosts {
		show, err := settingsOf(cmd, host)
		if err != nil {
			return err
		}
		if len(hosts) > 1 {
			fmt.Fprintf(cmd.OutOrStdout(), "%s:\n", output.Escape(host))
		}
		if err := output.Print(cmd, fmt.Sprintf("host %s has reported no settings yet", host), output.ListOptions{},
			hostSettingColumns, output.Rows(show.Settings)); err != nil {
			return err
		}
		printHostRemarks(cmd.ErrOrStderr(), show)
	}
	return nil
}

func settingsOf(cmd *cobra.Command, host string) (api.HostSettings, error) {
	return ask[api.HostSettings](cmd, api.HostConfiguration, api.Params{"host": host}, nil)
}

// printHostRemarks are what a listing does not tell.
func printHostRemarks(out io.Writer, show api.HostSettings) {
	for _, one := range show.Ignored {
		fmt.Fprintf(out, "%s: [%s] sets %s = %s, but its own qb.conf does, too, and counts\n", output.Escape(show.Host),
			output.Escape(one.Origin), output.Escape(one.Key), output.Escape(one.Value))
	}
	switch {
	case show.Error != "":
		fmt.Fprintf(out, "%s: uses no setting of the supervisor's file: %s\n", output.Escape(show.Host),
			output.Escape(show.Error))
	case show.Pending:
		fmt.Fprintf(out, "%s: has not taken the supervisor's file in its present form yet\n", output.Escape(show.Host))
	}
}

// Workers take the file with their next sync, which is held for a few seconds.
const (
	takenWithin     = 30 * time.Second
	restartedWithin = 45 * time.Second
	knownWithin     = 10 * time.Second // a supervisor that begins to lead hears all workers that can reach it by then
	askAgain        = 250 * time.Millisecond
)

// restartHosts has workers start again, one after another, and waits for each. It ends at the first that does not come
// back, so that a mistake that is made on all hosts stops no more than one.
func restartHosts(cmd *cobra.Command, hosts []string) error {
	for _, host := range hosts {
		was, err := knownHost(cmd, host)
		if err != nil {
			return err
		}
		if was.Incarnation == "" {
			return api.Errorf(api.KindUnavailable,
				"the supervisor does not know the present process of %s yet; try again in a few seconds, or when the farm is no longer read-only (qbping says whether it is)", output.Escape(host))
		}
		show, err := restartHost(cmd, was)
		if err != nil {
			return err
		}
		switch {
		case show.RestartError != "":
			return api.Errorf(api.KindConflict, "%s does not start again and goes on as it was: %s", output.Escape(host),
				output.Escape(show.RestartError))
		case show.Incarnation == was.Incarnation:
			return api.Errorf(api.KindUnavailable,
				"%s has not come back within %s: qbhosts shows whether it is up, its own log why it is not", output.Escape(host),
				restartedWithin)
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: restarted\n", output.Escape(host))
	}
	return nil
}

// knownHost is the host as soon as the supervisor has heard its present process, or as it is after some seconds.
func knownHost(cmd *cobra.Command, host string) (show api.HostSettings, err error) {
	for began := time.Now(); ; {
		show, err = settingsOf(cmd, host)
		if err != nil || show.Incarnation != "" || time.Since(began) > knownWithin {
			return show, err
		}
		if waited := pause.For(cmd.Context(), askAgain); waited != nil {
			return show, waited
		}
	}
}

// restartHost gives the order and waits for what becomes of it. A supervisor that leads since then knows nothing of it:
// it is given again, when that one has taken the worker in.
func restartHost(cmd *cobra.Command, was api.HostSettings) (show api.HostSettings, err error) {
	show = was
	for began := time.Now(); time.Since(began) < restartedWithin; {
		err = nil
		if !show.Restarting {
			err = connect(cmd).Send(cmd.Context(), api.RestartHost, api.Params{"host": was.Host}, nil, nil)
		}
		if waited := pause.For(cmd.Context(), askAgain); waited != nil {
			return was, waited
		}
		if err == nil {
			var now api.HostSettings
			if now, err = settingsOf(cmd, was.Host); err == nil {
				show = now
			}
		}
		switch {
		case err != nil && !temporary(err):
			return was, err
		case err == nil && (show.Incarnation != "" && show.Incarnation != was.Incarnation || show.RestartError != ""):
			return show, nil
		}
	}
	return was, err
}

// temporary says whether an error goes away once another supervisor leads: none does now, or the new one has not heard
// the worker yet.
func temporary(err error) bool {
	kind := api.Refusal(err).Kind
	return kind == api.KindUnavailable || kind == api.KindNotFound
}

// reconfigureHosts has the supervisor read its files again, and waits until the hosts have taken what they say.
func reconfigureHosts(cmd *cobra.Command, hosts []string) error {
	if err := connect(cmd).Send(cmd.Context(), api.Reread, nil, nil, nil); err != nil {
		return err
	}
	for _, host := range hosts {
		show, err := settingsOf(cmd, host)
		for began := time.Now(); err == nil && show.Pending &&
			time.Since(began) < takenWithin; show, err = settingsOf(cmd, host) {
			if err := pause.For(cmd.Context(), askAgain); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		if !show.Pending && show.Error == "" {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: goes by the supervisor's file\n", output.Escape(host))
		}
		printHostRemarks(cmd.ErrOrStderr(), show)
		if show.Pending || show.Error != "" {
			return api.Errorf(api.KindConflict, "%s has not taken the supervisor's file", output.Escape(host))
		}
	}
	return nil
}
