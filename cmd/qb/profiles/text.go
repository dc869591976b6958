package profiles

import (
	"strings"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/supervisor/facts"
)

// Text says what a job takes over from its profile.
func Text(l *api.Learned) string {
	var parts []string
	if l != nil && l.Memory > 0 {
		parts = append(parts, "memory "+output.Size(float64(l.Memory))+", "+source(l, l.MemorySet))
	}
	if l != nil && l.Seconds > 0 {
		parts = append(parts, "time "+output.Seconds(l.Seconds)+", "+source(l, l.SecondsSet))
	}
	return strings.Join(parts, "; ")
}

// MemoryText says where the memory of a job comes from that its profile knows.
func MemoryText(l *api.Learned) string { return source(l, l.MemorySet) + " of its profile" }

func source(l *api.Learned, set bool) string {
	if set {
		return "set by hand"
	}
	return "learned from " + facts.Several(l.Items, "item") + " of " + facts.Several(l.Jobs, "job")
}
