package main

// plainDocs explains the keys whose field has no doc tag. A tag wins over it.
var plainDocs = map[string]string{
	"worker_name":       "Name of this host in the farm; empty: the host's own name. Local workers of qb farm are numbered after it.",
	"worker_cpus":       "Slots; 0: as many as cores.",
	"worker_cluster":    "Cluster of this host, such as /show; jobs of near clusters are served first.",
	"worker_groups":     "Groups that jobs may name with -groups and -omitgroups, as [\"gpu\", \"big\"].",
	"worker_properties": "Properties for requirements, as {os = \"linux\"}.",
	"worker_resources":  "Resources for reservations, as {licenses = 2}.",
	"worker_state":      "Folder of the worker's records and output, an absolute path; empty: worker in the default state folder.",
	"worker_run_as":     "Who owns the items' processes: agent (the worker's user), owner (the job's, needs root); empty: owner for a worker run by root, else agent. qb farm takes empty as agent.",
	"worker_allow_root": "Where worker_run_as is owner: whether root's jobs run as root.",
	"worker_pass_env":   "Names of the worker's environment variables that items see too.",
	"worker_log_limit":  "Most output kept of one attempt; what comes after is dropped.",
	"worker_disk_floor": "With less free space than this for its output, a worker starts nothing new.",
	"worker_supervisor": "Addresses of the supervisor, tried in turn; empty: that of the farm.json of the default state folder.",
	"worker_token_file": "File with the worker's token; empty: worker.token beside the farm's admin token.",
}
