package rules

import (
	"crypto/rand"
	"fmt"
	"time"

	"qb/supervisor/facts"
)

// ClassOf tells hosts apart by what they have: slots, memory in whole GiB, GPUs, and speed where it is not the
// reference's. Hosts bought together are one class, whatever they are called.
func ClassOf(h facts.HostFacts) string {
	class := fmt.Sprintf("%s, %d GB", facts.Several(h.Slots, "slot"), (h.Memory+1<<29)>>30)
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
