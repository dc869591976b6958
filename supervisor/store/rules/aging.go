package rules

import (
	"crypto/rand"
	"fmt"
	"time"

	"qb/internal/units"
	"qb/supervisor/job/facts"
)

// ClassOf tells hosts apart by what they have: slots, memory in whole GiB (below 1 GiB in whole MiB), GPUs, and speed
// where it is not the reference's. Hosts bought together are one class, whatever they are called.
func ClassOf(h facts.HostFacts) string {
	step := int64(units.GiB)
	if h.Memory < units.GiB {
		step = units.MiB
	}
	memory := "memory unknown"
	if h.Memory > 0 {
		memory = units.ExactText((h.Memory + step/2) / step * step)
	}
	class := facts.Several(h.Slots, "slot") + ", " + memory
	if n := h.Resources["gpus"]; n > 0 {
		class += fmt.Sprintf(", %d GPUs", n)
	}
	if h.Spec > 0 && h.Spec != 1 {
		class += fmt.Sprintf(", spec %v", h.Spec)
	}
	return class
}

// NewLineage names a database.
func NewLineage() string { return rand.Text() }

// KeptTokens are a host's that stay: it renews them one after the other, and each copy of its state folder its own.
const KeptTokens = 8

// How long answers are kept, and how many of one owner: see table answer.
const (
	AnswersKept  = 24 * time.Hour
	AnswerPlaces = 10_000
	AnswerPlace  = 16 << 10 // bytes; the SQL has it too
	AnswersSwept = 100      // looked at beyond as many as are added
)
