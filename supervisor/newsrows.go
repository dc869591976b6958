package supervisor

import (
	"slices"
	"strings"

	"qb/supervisor/facts"
)

// streamOf shows a row of the history in the stream: its type and cause. What the stream tells by the write
// itself or by what differs between two views is not told twice.
func streamOf(e facts.EventFacts) (streamEvent, bool) {
	switch e.Type {
	case "stopped", "submitted", "host-registered":
		return streamEvent{}, false
	}
	out := streamEvent{topic: "item", at: e.At, kind: e.Type, Why: e.Why, job: e.Job, item: e.Item, inst: -1, host: e.Host}
	if e.By != "" {
		out.Cause = strings.Join(slices.DeleteFunc([]string{e.Cause, "(by " + e.By + ")"}, func(s string) bool { return s == "" }), " ")
	}
	if e.Job != 0 && e.Instance >= 0 {
		out.inst = e.Instance
	}
	switch {
	case e.Job == 0 && e.Host != "":
		out.topic, out.item = "host", -1
	case e.Job == 0:
		out.topic, out.item = "farm", -1
	case e.Item < 0:
		out.topic = "job"
	}
	return out, true
}
