package facts

import "fmt"

// Bytes is what the texts of a job take, about, in memory and in its row.
func (j JobFacts) Bytes() int64 {
	n := len(j.Submission) + j.Division.bytes()
	for i := range Attributes {
		n += Attributes[i].bytes(&j)
	}
	return int64(n)
}

// jobRowBytes is what a job's row takes beside its texts, about, with its places in indexes.
const jobRowBytes = 1000

// Stored is what a job takes in the database, about, for as long as its row is there.
func (j JobFacts) Stored() int64 { return jobRowBytes + j.Bytes() }

// Bytes is the length of all texts.
func (w Why) Bytes() int {
	return len(w.Reason) + len(w.Cause) + len(w.Params.By) + len(w.Params.Host) + len(w.Params.User) +
		len(w.Params.Outcome)
}

// Several counts things: "1 item", "2 items".
func Several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
