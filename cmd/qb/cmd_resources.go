package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
)

// noResources is printed where the farm has no resources.
const noResources = "the farm has no global resources; name them in supervisor_global_resources"

// newResourcesCommand is qb resources.
func newResourcesCommand() *cobra.Command {
	cmd := newListing("resources", "List resources of the whole farm, such as licences, with their use", noResources,
		resourceColumns, api.ListResources)
	cmd.Long = "List resources of the whole farm (supervisor_global_resources): how many exist, how many the farm and others use, and how many the\n" +
		"farm may still take. qbupdateresource says what is used outside of the farm."
	cmd.Example = "  qb resources\n  qb resources -json"
	return cmd
}

// listResources prints the same for another command.
func listResources(cmd *cobra.Command) error {
	return listRows(cmd, noResources, output.ListOptions{}, resourceColumns, api.ListResources, nil)
}

var resourceColumns = []output.Column[api.Resource]{
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
	{Name: "note", Text: resourceNote},
	{Name: "allowed", Right: true, Extra: true},
	{Name: "reported_by", Extra: true},
	{Name: "reported_at", Extra: true},
	{Name: "lowered_to", Right: true, Extra: true},
}

// resourceNote says what else a person should know.
func resourceNote(r api.Resource) string {
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
