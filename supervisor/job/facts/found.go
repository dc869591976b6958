package facts

// Found is what a job's expressions have found in the output of an attempt, and what its program has reported of it.
type Found struct {
	Highlights  []string `json:"highlights"`  // lines
	OutputPaths []string `json:"outputpaths"` // paths of files
	Result      string   `json:"result"`      // JSON of a load-once program; "": none
}

// Empty says that there is nothing.
func (f *Found) Empty() bool { return len(f.Highlights)+len(f.OutputPaths)+len(f.Result) == 0 }

// Bytes is about what it takes.
func (f *Found) Bytes() (n int) {
	n = len(f.Result)
	for _, list := range [][]string{f.Highlights, f.OutputPaths} {
		for _, text := range list {
			n += len(text) + 4
		}
	}
	return n
}
