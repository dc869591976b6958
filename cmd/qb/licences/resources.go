package licences

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/cmd/qb/remote"
)

// Shell is the program that the commands belong to.
type Shell struct{ remote.Shell }

// none is printed where the farm has no resources.
const none = "the farm has no global resources; name them in supervisor_global_resources"

// ListCommand is qb resources.
func (s Shell) ListCommand() *cobra.Command {
	cmd := remote.Listing(s.Shell, "resources", "List resources of the whole farm, such as licences, with their use", none, columns, api.ListResources)
	cmd.Long = "List resources of the whole farm (supervisor_global_resources): how many exist, how many the farm and others use, and how many the\n" +
		"farm may still take. qbupdateresource says what is used outside of the farm."
	cmd.Example = "  qb resources\n  qb resources -json"
	return cmd
}

// List prints the same for another command.
func (s Shell) List(cmd *cobra.Command) error {
	return remote.List(s.Shell, cmd, none, output.ListOptions{}, columns, api.ListResources, nil)
}

// UpdateCommand is qbupdateresource.
func (s Shell) UpdateCommand() *cobra.Command {
	var name string
	var total, used int64
	var forget bool
	cmd := &cobra.Command{
		Use: "updateresource", Short: "Say how much of a resource, such as a licence, is used outside of the farm", Args: commandline.WantArgs(0, 0, ""),
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
			return remote.Say(s.Shell, cmd, name, api.ReportResource, api.Params{"resource": name}, in, text)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the resource `NAME`, such as license.nuke")
	cmd.Flags().Int64Var(&total, "total", 0, "`N` exist, inside and outside of the farm")
	cmd.Flags().Int64Var(&used, "used", 0, "`N` are used outside of the farm")
	cmd.Flags().BoolVar(&forget, "forget", false, "forget what was reported, and that items found no licence")
	s.BindRepeat(cmd)
	return cmd
}

// text says what a report leaves to the farm.
func text(r api.Resource) string {
	return fmt.Sprintf("%s: %d used outside of the farm, %d used here, %d free", output.Escape(r.Name), r.Outside, r.Held, r.Free)
}

var columns = []output.Column[api.Resource]{
	{Name: "name"},
	{Name: "counted"},
	{Name: "total", Right: true, Text: func(r api.Resource) string {
		if r.Total == nil {
			return "-"
		}
		return strconv.FormatInt(*r.Total, 10)
	}},
	{Name: "has", Right: true},
	{Name: "used_here", Right: true},
	{Name: "used_outside", Right: true},
	{Name: "free", Right: true},
	{Name: "note", Text: note},
	{Name: "allowed", Right: true, Extra: true},
	{Name: "reported_by", Extra: true},
	{Name: "reported_at", Extra: true},
	{Name: "lowered_to", Right: true, Extra: true},
}

// note says what else a person should know.
func note(r api.Resource) string {
	switch {
	case r.LoweredTo != nil:
		return fmt.Sprintf("lowered to %d until %s, as items found none", *r.LoweredTo, output.Moment(r.LoweredUntil))
	case r.Stale:
		return "reported long ago: " + output.Moment(r.ReportedAt)
	case r.Held > r.Allowed:
		return fmt.Sprintf("%d more than free; they go at the end of their items", r.Held-r.Allowed)
	}
	return ""
}
