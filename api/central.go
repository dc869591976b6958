package api

import "encoding/json"

// Central is the part of a worker's configuration that the supervisor's file sets.
type Central struct {
	_ struct{} `additionalProperties:"true"`

	Version string                     `json:"version" doc:"Of these values; the worker's next syncs repeat it in central."`
	Values  map[string]json.RawMessage `json:"values,omitempty" doc:"By key of qb.conf. A worker takes keys that only say what it offers, and of these only such as its own configuration does not set."`
}

// Setting is a setting of a worker.
type Setting struct {
	_ struct{} `additionalProperties:"true"`

	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin" doc:"own: the worker's own configuration; built in: qb's default; or the section of the supervisor's file, such as host.rn01."`
}

// HostSettings is the configuration of a worker, as far as the supervisor's file may set it.
type HostSettings struct {
	Host     string    `json:"host"`
	File     string    `json:"file,omitempty" doc:"The supervisor's file; empty: none."`
	Settings []Setting `json:"settings"`
	Ignored  []Setting `json:"ignored" doc:"What the supervisor's file sets and the worker's own configuration too, which counts."`
	Pending  bool      `json:"pending,omitempty" doc:"The worker has not taken the supervisor's file in its present form yet."`
	Error    string    `json:"error,omitempty" doc:"Why the worker uses no setting of the supervisor's file."`

	Incarnation  string `json:"incarnation" doc:"Id of the worker's process that the farm goes by, as all listings do. Another one means that it has started again; empty: this supervisor has taken none in yet, or can take in nothing, as its database is read-only."`
	Restarting   bool   `json:"restarting,omitempty" doc:"It is to start again, and has neither done so nor said why not; or it has started, and listings do not show it yet."`
	RestartError string `json:"restart_error,omitempty" doc:"Why it did not start again when it was last to."`
}

// RestartReply says that a worker is to start again.
type RestartReply struct {
	Host        string  `json:"host"`
	Incarnation string  `json:"incarnation" doc:"Of the process that is to end; the host's configuration tells when it has another, or why not."`
	WaitSeconds float64 `json:"wait_seconds" doc:"The worker is asked for so long; what it has not heard by then is forgotten."`
}

// RestartHost has a worker start again: it reads its qb.conf, and is the program that lies on its disk by then.
var RestartHost = Endpoint{"restart-host", "POST", "/v1/hosts/{host}/restart", Admin,
	"Start a worker again; its items run on"}

// SupervisorSetting is a setting that a supervisor uses.
type SupervisorSetting struct {
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value" doc:"As qb.conf has it; a secret that is set is ***."`
	Origin string          `json:"origin" doc:"FILE:LINE, the environment variable, the option of the command line, or default."`
}

// SupervisorSettings are all settings of a supervisor.
type SupervisorSettings struct {
	URL      string              `json:"url" doc:"Of the supervisor that answers."`
	Settings []SupervisorSetting `json:"settings"`
}

// SupervisorConfiguration shows how the supervisor that answers is configured, whether it leads or not.
var SupervisorConfiguration = Endpoint{"supervisor-configuration", "GET", "/v1/configuration", Operator,
	"Read the settings of the supervisor that answers, and where each comes from"}

// HostConfiguration shows how a worker is configured.
var HostConfiguration = Endpoint{"host-configuration", "GET", "/v1/hosts/{host}/configuration", ReadOnly,
	"A worker's settings and where each comes from"}
