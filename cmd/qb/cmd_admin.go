package main

import (
	"github.com/spf13/cobra"

	"qb/api"
)

func newAdminCommand() *cobra.Command {
	admin := &cobra.Command{Use: "admin",
		Short: "Administer users, tokens, shares, the audit trail, the configuration and hosts"}
	token := &cobra.Command{Use: "token", Short: "Create, list, rotate and revoke tokens"}
	token.AddCommand(newTokenCreate(), newListing("list", "List tokens, without their secrets", "there are no tokens",
		tokenColumns, api.ListTokens), newTokenRotate(), newTokenRevoke())
	admin.AddCommand(token, newAdminAudit(), newAdminWorker(), newAdminShare(), newAdminAccount(), newAdminCredit(),
		newAdminSupervisor(), newAdminBrake(), newAdminUser())
	return admin
}
