package api

import "encoding/json"

// UnmarshalJSON also reads the form of earlier releases, in which job is the whole job: the database has replies of theirs
// for a day.
func (r *SubmitReply) UnmarshalJSON(data []byte) error {
	var wire struct {
		Job     json.RawMessage `json:"job"`
		Version int64           `json:"version"`
		Remarks []string        `json:"remarks"`
	}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	*r = SubmitReply{Version: wire.Version, Remarks: wire.Remarks}
	if len(wire.Job) == 0 {
		return nil
	}
	if wire.Job[0] != '{' {
		return json.Unmarshal(wire.Job, &r.Job)
	}
	var job struct{ ID, Version int64 }
	err := json.Unmarshal(wire.Job, &job)
	r.Job, r.Version = job.ID, job.Version
	return err
}
