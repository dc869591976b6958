package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
)

// newUpdateResourceCommand is qbupdateresource.
func newUpdateResourceCommand() *cobra.Command {
	var name string
	var total, used int64
	var forget bool
	cmd := &cobra.Command{
		Use: "updateresource", Short: "Say how much of a resource, such as a licence, is used outside of the farm",
		Args: commandline.WantArgs(0, 0, ""),
		Long: "Say how many of a resource of supervisor_global_resources exist, and how many are used outside of the farm. From then on the farm\n" +
			"holds at most as many as are left, and at most its count in qb.conf; what runs is not stopped. The report counts until the next one.",
		Example: "  qbupdateresource -name license.nuke -total 60 -used 12\n  qbupdateresource -name license.nuke -forget",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var in api.ResourceReport
			if cmd.Flags().Changed("total") {
				in.Total = &total
			}
			if cmd.Flags().Changed("used") {
				in.Outside = &used
			}
			switch in.Forget = forget; {
			case name == "":
				return api.Errorf(api.KindUsage, "give -name NAME, such as license.nuke; qb resources lists them")
			case in == api.ResourceReport{}:
				return api.Errorf(api.KindUsage, "give -total, -used or both; or -forget")
			}
			return sayChange(cmd, name, api.ReportResource, api.Params{"resource": name}, in, resourceText)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the resource `NAME`, such as license.nuke")
	cmd.Flags().Int64Var(&total, "total", 0, "`N` exist, inside and outside of the farm")
	cmd.Flags().Int64Var(&used, "used", 0, "`N` are used outside of the farm")
	cmd.Flags().BoolVar(&forget, "forget", false, "forget what was reported, and that items found no licence")
	bindRepeat(cmd)
	return cmd
}

// resourceText says what a report leaves to the farm.
func resourceText(r api.Resource) string {
	return fmt.Sprintf("%s: %d used outside of the farm, %d used here, %d free", output.Escape(r.Name), r.Outside, r.Held,
		r.Free)
}
