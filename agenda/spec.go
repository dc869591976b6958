package agenda

// Spec is an agenda as it was submitted: text, never expanded in storage.
type Spec struct {
	// Range is a comma list of numbers, ranges such as 1-100x5 and labels; empty for a job without an
	// agenda, which runs its command Runs times.
	Range      string `json:"range,omitempty"`
	Chunk      int    `json:"chunk,omitempty"`      // items of so many consecutive entries; 0 or 1: one
	Partitions int    `json:"partitions,omitempty"` // so many nearly equal items; 0: not used
	Order      Order  `json:"order,omitempty"`
	Padding    int    `json:"padding,omitempty"` // digits of substituted numbers
	Runs       int    `json:"runs,omitempty"`    // only without a Range

	// Named divides items further, until START, END and STEP of each name its numbers.
	Named bool `json:"named,omitempty"`
}

// Order is the order in which items are numbered.
type Order string

// Orders.
const (
	Ascend  Order = ""        // as written
	Reverse Order = "reverse" // last first
	Binary  Order = "binary"  // first, last, then middles
)
