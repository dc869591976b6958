package api

import (
	"encoding/json"
	"errors"
	"strings"
)

// Unlimited means "no limit but the site's" in max_cpus, as in qb.conf, on command lines and in Qube's own files.
const Unlimited = "*"

// widthLimit reads a max_cpus that may also be Unlimited.
type widthLimit int

func (w *widthLimit) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil && text == Unlimited {
		*w = -1
		return nil
	}
	return json.Unmarshal(data, (*int)(w))
}

// ofMember takes the names of the embedded types out of the place of an error.
func ofMember(err error) error {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		wrong.Field = strings.TrimPrefix(strings.TrimPrefix(wrong.Field, "submitRequest."), "modifyRequest.")
	}
	return err
}

type (
	submitRequest SubmitRequest
	modifyRequest ModifyRequest
)

// UnmarshalJSON also takes max_cpus as "*".
func (r *SubmitRequest) UnmarshalJSON(data []byte) error {
	wire := struct {
		*submitRequest
		MaxCPUs *widthLimit `json:"max_cpus"`
	}{submitRequest: (*submitRequest)(r)}
	err := json.Unmarshal(data, &wire)
	r.MaxCPUs = (*int)(wire.MaxCPUs)
	return ofMember(err)
}

// UnmarshalJSON also takes max_cpus as "*".
func (r *ModifyRequest) UnmarshalJSON(data []byte) error {
	wire := struct {
		*modifyRequest
		MaxCPUs *widthLimit `json:"max_cpus"`
	}{modifyRequest: (*modifyRequest)(r)}
	err := json.Unmarshal(data, &wire)
	r.MaxCPUs = (*int)(wire.MaxCPUs)
	return ofMember(err)
}
