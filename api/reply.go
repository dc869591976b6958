package api

// ActionRequest narrows an action (not shove, top and bottom) to some of a job's items, or to what instances of it run;
// empty means the whole job. What is in a state is found out as the order is carried out.
type ActionRequest struct {
	Items          string   `json:"items,omitempty" doc:"Item names, or ranges of them, as 25-29,40."`
	ItemStates     []string `json:"item_states,omitempty" maxItems:"7" enum:"pending,running,blocked,suspended,complete,failed,killed" doc:"Only items, of those named or else of all, that are in one of these states. With complete, retry is redo."`
	Host           string   `json:"host,omitempty" maxLength:"255" doc:"Only items whose latest attempt ran on this host."`
	ExitCode       *int     `json:"exit_code,omitempty" minimum:"0" maximum:"255" doc:"Only items whose latest attempt ended with this exit status."`
	Instances      string   `json:"instances,omitempty" maxLength:"4096" doc:"Numbers of running instances, or ranges of them, as 0-3,7: what these run. In a job without a range also items that do not run."`
	InstanceStates []string `json:"instance_states,omitempty" maxItems:"7" enum:"pending,running,blocked,suspended,complete,failed,killed" doc:"What is run by instances, of those named or else of all, that are in one of these states. Only in a job without a range there are instances that do not run."`
}

// Change is an attribute of a job that a request gave another value.
type Change struct {
	Name string `json:"name" doc:"The attribute."`
	From string `json:"from" doc:"Its former value, as an option has it; empty: it had none, or the history does not show it."`
	To   string `json:"to" doc:"Its value now."`
}

// SubmitReply names the job and says what was changed on the way, such as a capped max_cpus.
type SubmitReply struct {
	Job     int64    `json:"job" doc:"The job's id."`
	Version int64    `json:"version" doc:"The job's version as the request left it; the entity tag."`
	Remarks []string `json:"remarks"`
	Changed []Change `json:"changed,omitempty" doc:"Of a change: the attributes that have another value now."`
	Before  []int64  `json:"before,omitempty" doc:"Ids of the jobs that the same submission has made before this one: of its preview items (p_agenda), or on its other hosts (the flag host_list). The job stands for all of them where it is waited for, linked to or archived."`
}
