package api

import "time"

// Resource is a resource of the whole farm, such as a licence.
type Resource struct {
	Name         string     `json:"name"`
	Counted      string     `json:"counted" doc:"What takes one: instance, host (however many instances run there) or user-host (each user on each host)."`
	Has          int64      `json:"has" doc:"Number that the farm may use, by supervisor_global_resources."`
	Total        *int64     `json:"total" doc:"Number that exist, inside and outside of the farm, by the last report; null: not reported."`
	Outside      int64      `json:"used_outside" doc:"Number used outside of the farm, by the last report."`
	Held         int64      `json:"used_here" doc:"Number that running instances of the farm hold."`
	Allowed      int64      `json:"allowed" doc:"Number that the farm may hold now: has, at most total less used_outside, at most lowered_to."`
	Free         int64      `json:"free" doc:"Number that the farm may still take."`
	By           string     `json:"reported_by,omitempty"`
	ReportedAt   *time.Time `json:"reported_at" doc:"Null: nothing was reported."`
	Stale        bool       `json:"stale" doc:"The report is older than supervisor_resource_age."`
	LoweredTo    *int64     `json:"lowered_to,omitempty" doc:"Items found no licence, so that the farm takes no more than this."`
	LoweredUntil *time.Time `json:"lowered_until,omitempty" doc:"When the farm tries one more."`
}

// ResourceReport says how much of a resource is used outside of the farm. What is absent stays as it is.
type ResourceReport struct {
	Total   *int64 `json:"total,omitempty" minimum:"0" maximum:"1000000000" doc:"Number that exist, inside and outside of the farm."`
	Outside *int64 `json:"used_outside,omitempty" minimum:"0" maximum:"1000000000" doc:"Number used outside of the farm."`
	Forget  bool   `json:"forget,omitempty" doc:"Forget all reports, and that items found no licence."`
}

// The endpoints of resources.
var (
	ListResources = Endpoint{"list-resources", "GET", "/v1/resources", ReadOnly,
		"Resources of the whole farm, such as licences, with their use"}
	ReportResource = Endpoint{"report-resource", "PATCH", "/v1/resources/{resource}", Operator,
		"Say how much of a resource is used outside of the farm"}
)
