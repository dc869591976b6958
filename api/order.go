package api

import "net/http"

// Orders of placement.
var (
	OrderOfJobs = Endpoint{"job-order", http.MethodGet, "/v1/hosts/{host}/joborder", ReadOnly,
		"In which order jobs' waiting items would go to a host, and why others would not"}
	OrderOfHosts = Endpoint{"host-order", http.MethodGet, "/v1/jobs/{job}/hostorder", ReadOnly,
		"Which hosts a job's waiting items may go to, in the order that the job prefers, and why others are not among them"}
)

// JobPlacement is a job whose items wait, as a host would take it.
type JobPlacement struct {
	Place    int    `json:"place" doc:"From 1; 0: its items would not go to the host."`
	Job      int64  `json:"job"`
	User     string `json:"user"`
	Name     string `json:"name"`
	Priority int    `json:"priority"`
	Cluster  string `json:"cluster"`
	Code     string `json:"code" doc:"Why not, for programs; empty: they would."`
	Reason   string `json:"reason" doc:"The same as a sentence."`
}

// HostPlacement is a host, as a job would choose it.
type HostPlacement struct {
	Place  int    `json:"place" doc:"From 1; 0: the job's items would not go to it."`
	Host   string `json:"host"`
	Code   string `json:"code" doc:"Why not, for programs; empty: they would."`
	Reason string `json:"reason" doc:"The same as a sentence."`
}
