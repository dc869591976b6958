package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/find"
	"qb/cmd/qb/output"
)

// revokeLogin ends the token of a login. It is no error if the token has ended already.
func revokeLogin(cmd *cobra.Command, saved find.Login) error {
	parts := strings.SplitN(saved.Token, "_", 4)
	if len(parts) != 4 {
		return nil
	}
	farm, err := dial(cmd, saved.URL, saved.Token)
	if err != nil {
		return err
	}
	err = farm.Send(cmd.Context(), api.RevokeOwn, api.Params{"token": parts[2]}, nil, nil)
	if api.Refusal(err).Kind == api.KindUnauthorized {
		return nil
	}
	return err
}

// newLogoutCommand is qb logout.
func newLogoutCommand() *cobra.Command {
	var local bool
	cmd := &cobra.Command{
		Use: "logout", Short: "Revoke the token of the last login and remove it from this machine",
		Args: commandline.WantArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			saved, err := find.ReadLogin()
			if err != nil {
				return err
			}
			if saved == nil {
				return api.Errorf(api.KindConflict,
					"you are not logged in here: there is no login.json in your configuration folder")
			}
			if !local {
				if err := revokeLogin(cmd, *saved); err != nil {
					return api.Errorf(api.Refusal(err).Kind,
						"the token is not revoked and stays here: %v\ntry again, or remove it from this machine alone with qb logout -local", err)
				}
			}
			if err := find.ForgetLogin(); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "logged out of %s\n", output.Escape(saved.URL))
			return err
		},
	}
	cmd.Flags().BoolVar(&local, "local", false,
		"only remove the token from this machine; it remains valid until it expires")
	return cmd
}
