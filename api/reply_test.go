package api

import (
	"encoding/json"
	"testing"
)

// TestReply: a reply is read in its form and in that of earlier releases, in which job was the whole job.
func TestReply(t *testing.T) {
	for text, want := range map[string]SubmitReply{
		`{"job":7,"version":2,"remarks":["capped"]}`:                   {Job: 7, Version: 2, Remarks: []string{"capped"}},
		`{"job":{"id":7,"version":2,"name":"x"},"remarks":["capped"]}`: {Job: 7, Version: 2, Remarks: []string{"capped"}},
	} {
		var got SubmitReply
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Job != want.Job || got.Version != want.Version || got.Remarks[0] != want.Remarks[0] {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}
