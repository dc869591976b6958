package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

func newTokenCreate() *cobra.Command {
	var req api.TokenRequest
	cmd := &cobra.Command{
		Use: "create", Short: "Create a token and print it; it cannot be printed again", Args: commandline.WantArgs(0, 0, ""),
		Example: "  qbadmin token create -user ada -role user -days 30",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if req.Role == string(api.Worker) {
				req.User = cmp.Or(req.User, string(api.Worker))
			}
			if req.User == "" || req.Role == "" {
				return api.Errorf(api.KindUsage,
					"give -user NAME and -role ROLE (admin, operator, user or read-only), or -role worker")
			}
			reply, err := ask[api.TokenReply](cmd, api.CreateToken, nil, req)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), reply.Token)
			fmt.Fprintf(cmd.ErrOrStderr(), "token %s of %s (%s), good until %s\n", reply.ID, output.Escape(reply.User),
				reply.Role, output.Moment(&reply.ExpiresAt))
			return nil
		},
	}
	cmd.Flags().StringVar(&req.User, "user", "", "`NAME` of the user of the token (default with -role worker: worker)")
	cmd.Flags().StringVar(&req.Role, "role", "", "`ROLE` of the token: admin, operator, user, read-only or worker")
	cmd.Flags().Var((*units.Days)(&req.Days), "days", "`DURATION` until the token expires, in whole days: 30 (days) or 30d (default 90)")
	return cmd
}

var tokenColumns = []output.Column[api.TokenInfo]{
	{Name: "id"},
	{Name: "user"},
	{Name: "role"},
	{Name: "state", Text: tokenState},
	{Name: "created_at"},
	{Name: "expires_at"},
	{Name: "last_used_at"},
	{Name: "uses_left", Extra: true},
	{Name: "session_of", Extra: true},
	{Name: "revoked", Extra: true},
}

func newTokenRotate() *cobra.Command {
	overlap := time.Hour
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Replace a token: print a new one of the same role; the old one expires soon",
		Args:    commandline.WantArgs(1, 1, "token id"),
		Example: "  qbadmin token rotate 0123456789abcdef -overlap 24h > token && mv token ~/.config/qb/token",
		RunE: func(cmd *cobra.Command, ids []string) error {
			req := api.RotateRequest{OverlapSeconds: int(overlap.Seconds())}
			reply, err := ask[api.TokenReply](cmd, api.RotateToken, api.Params{"token": ids[0]}, req)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), reply.Token)
			fmt.Fprintf(cmd.ErrOrStderr(), "token %s of %s (%s), good until %s; %s ends in %s\n", reply.ID,
				output.Escape(reply.User), reply.Role, output.Moment(&reply.ExpiresAt),
				output.Escape(ids[0]), overlap)
			return nil
		},
	}
	cmd.Flags().Var((*units.Span)(&overlap), "overlap", "`DURATION` for which the old token remains valid")
	return cmd
}

func newTokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID…", Short: "Revoke tokens", Args: commandline.WantArgs(1, -1, "token id"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return forEachWord(cmd, ids, api.RevokeToken, "token", "revoked")
		},
	}
}

// tokenState is what a token is good for, in a word or two.
func tokenState(t api.TokenInfo) string {
	switch {
	case t.Revoked:
		return "revoked"
	case time.Now().After(t.ExpiresAt):
		return "expired"
	case t.UsesLeft != nil && *t.UsesLeft == 0:
		return "used up"
	case t.UsesLeft != nil:
		return fmt.Sprintf("good for %d", *t.UsesLeft)
	}
	return "good"
}
