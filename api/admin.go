package api

// RereadReply says what a supervisor that read its configuration again has taken into force.
type RereadReply struct {
	File    string   `json:"file" doc:"The file that was read; empty: there is none, defaults and the environment hold."`
	Changed []string `json:"changed" doc:"Keys whose new value is in force."`
	Remarks []string `json:"remarks" doc:"What a restart is needed for, and what else is to be known."`
}

// BrakeReply answers the release of the mass-failure brake.
type BrakeReply struct {
	Affected int `json:"affected"`
}
