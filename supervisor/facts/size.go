package facts

import (
	"fmt"
	"math"
	"strings"
)

// Bytes is what the texts of a job take, about, in memory and in its row.
func (j JobFacts) Bytes() int64 {
	n := len(j.Submission)
	for i := range Attributes {
		n += Attributes[i].bytes(&j)
	}
	return int64(n)
}

// jobRowBytes is what a job's row takes beside its texts, about, with its places in indexes.
const jobRowBytes = 1000

// Stored is what a job takes in the database, about, for as long as its row is there.
func (j JobFacts) Stored() int64 { return jobRowBytes + j.Bytes() }

// Size writes bytes for people, to three digits at most.
func Size(bytes int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB", "PB"}
	v, u := float64(bytes), 0
	for math.Abs(v) >= 1023.5 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	if digits := fmt.Sprintf("%.1f", v); math.Abs(v) < 99.95 && !strings.HasSuffix(digits, ".0") {
		return digits + " " + units[u]
	}
	return fmt.Sprintf("%.0f %s", v, units[u])
}

// Bytes are those of the texts.
func (w Why) Bytes() int {
	return len(w.Reason) + len(w.Cause) + len(w.Params.By) + len(w.Params.Host) + len(w.Params.User) + len(w.Params.Outcome)
}

// Several counts things: "1 item", "2 items".
func Several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
