package main

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/cmd/qb/span"
)

func newAdminCommand() *cobra.Command {
	admin := &cobra.Command{Use: "admin", Short: "Administer tokens, shares, the audit trail, the configuration and hosts"}
	token := &cobra.Command{Use: "token", Short: "Create, list, rotate and revoke tokens"}
	token.AddCommand(newTokenCreate(), newTokenList(), newTokenRotate(), newTokenRevoke())
	admin.AddCommand(token, newAdminAudit(), newAdminWorker(), newAdminShare(), newAdminCredit(), newAdminSupervisor(), newAdminBrake())
	return admin
}

func newTokenCreate() *cobra.Command {
	var req api.TokenRequest
	cmd := &cobra.Command{
		Use: "create", Short: "Create a token and print it; it cannot be printed again", Args: wantArgs(0, 0, ""),
		Example: "  qbadmin token create -user ada -role user -days 30",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if req.Role == string(api.Worker) {
				req.User = cmp.Or(req.User, string(api.Worker))
			}
			if req.User == "" || req.Role == "" {
				return api.Errorf(api.KindUsage, "give -user NAME and -role ROLE (admin, operator, user or read-only), or -role worker")
			}
			c, err := connect(cmd)
			if err != nil {
				return err
			}
			var reply api.TokenReply
			if err := c.call(cmd.Context(), api.CreateToken, nil, req, &reply); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), reply.Token)
			fmt.Fprintf(cmd.ErrOrStderr(), "token %s of %s (%s), good until %s\n", reply.ID, output.Escape(reply.User), reply.Role, output.Moment(&reply.ExpiresAt))
			return nil
		},
	}
	cmd.Flags().StringVar(&req.User, "user", "", "`NAME` of the user of the token (default with -role worker: worker)")
	cmd.Flags().StringVar(&req.Role, "role", "", "`ROLE` of the token: admin, operator, user, read-only or worker")
	cmd.Flags().IntVar(&req.Days, "days", 0, "`N` days until the token expires (default 90)")
	return cmd
}

func newTokenList() *cobra.Command {
	var list output.ListOptions
	cmd := &cobra.Command{
		Use: "list", Short: "List tokens, without their secrets", Args: wantArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listOf(cmd, list, tokenColumns, func(c *client, add func(api.TokenInfo) error) error {
				var tokens []api.TokenInfo
				if err := c.call(cmd.Context(), api.ListTokens, nil, nil, &tokens); err != nil {
					return err
				}
				for _, t := range tokens {
					if err := add(t); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	list.Bind(cmd.Flags())
	return cmd
}

var tokenColumns = []output.Column[api.TokenInfo]{
	{Name: "id", Text: func(t api.TokenInfo) string { return t.ID }},
	{Name: "user", Text: func(t api.TokenInfo) string { return t.User }},
	{Name: "role", Text: func(t api.TokenInfo) string { return t.Role }},
	{Name: "state", Text: tokenState},
	{Name: "created_at", Text: func(t api.TokenInfo) string { return output.Moment(&t.CreatedAt) }},
	{Name: "expires_at", Text: func(t api.TokenInfo) string { return output.Moment(&t.ExpiresAt) }},
	{Name: "last_used_at", Text: func(t api.TokenInfo) string { return output.Moment(t.LastUsed) }},
	{Name: "revoked", Extra: true, Text: func(t api.TokenInfo) string { return strconv.FormatBool(t.Revoked) }},
}

func tokenState(t api.TokenInfo) string {
	switch {
	case t.Revoked:
		return "revoked"
	case time.Now().After(t.ExpiresAt):
		return "expired"
	}
	return "good"
}

func newTokenRotate() *cobra.Command {
	overlap := time.Hour
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Replace a token: print a new one of the same role; the old one expires soon", Args: wantArgs(1, 1, "token id"),
		Example: "  qbadmin token rotate 0123456789abcdef -overlap 24h > token && mv token ~/.config/qb/token",
		RunE: func(cmd *cobra.Command, ids []string) error {
			c, err := connect(cmd)
			if err != nil {
				return err
			}
			var reply api.TokenReply
			req := api.RotateRequest{OverlapSeconds: int(overlap.Seconds())}
			if err := c.call(cmd.Context(), api.RotateToken, api.Params{"token": ids[0]}, req, &reply); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), reply.Token)
			fmt.Fprintf(cmd.ErrOrStderr(), "token %s of %s (%s), good until %s; %s ends in %s\n", reply.ID, output.Escape(reply.User), reply.Role, output.Moment(&reply.ExpiresAt),
				output.Escape(ids[0]), overlap)
			return nil
		},
	}
	span.Var(cmd.Flags(), &overlap, "overlap", overlap, "`DURATION` for which the old token remains valid")
	return cmd
}

func newTokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID…", Short: "Revoke tokens", Args: wantArgs(1, -1, "token id"),
		RunE: func(cmd *cobra.Command, ids []string) error {
			c, err := connect(cmd)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if err := c.call(cmd.Context(), api.RevokeToken, api.Params{"token": id}, nil, nil); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: revoked\n", output.Escape(id))
			}
			return nil
		},
	}
}

func newAdminWorker() *cobra.Command {
	var dead, remove bool
	cmd := &cobra.Command{
		Use: "worker HOST…", Short: "Remove hosts, or confirm that nothing runs on lost hosts", Args: wantArgs(1, -1, "host"),
		Example: "  qbadmin worker -confirm-dead rn42\n  qbadmin worker -remove rn42",
		RunE: func(cmd *cobra.Command, hosts []string) error {
			switch {
			case remove:
				return removeHosts(cmd, hosts, dead)
			case !dead:
				return api.Errorf(api.KindUsage, "give -remove, or -confirm-dead when you have seen that nothing runs there any more")
			}
			return eachHost(cmd, api.ConfirmDead, hosts, "confirmed dead")
		},
	}
	bindRepeat(cmd)
	cmd.Flags().BoolVar(&dead, "confirm-dead", false, "confirm that you checked that nothing runs there; the items run elsewhere")
	cmd.Flags().BoolVar(&remove, "remove", false, "remove silent hosts; other machines may then use their names")
	return cmd
}

func removeHosts(cmd *cobra.Command, hosts []string, dead bool) error {
	c, err := connect(cmd)
	if err != nil {
		return err
	}
	for _, host := range hosts {
		var reply api.HostReply
		if err := c.change(cmd.Context(), host, api.RemoveHost, api.Params{"host": host, "confirm_dead": strconv.FormatBool(dead)}, nil, &reply); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: removed\n", output.Escape(host))
	}
	return nil
}
