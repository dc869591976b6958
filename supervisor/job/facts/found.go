package facts

// Found is what a job's expressions have found in the output of an attempt.
type Found struct {
	Highlights  []string `json:"highlights"`  // lines
	OutputPaths []string `json:"outputpaths"` // paths of files
}

// Empty says that nothing was found.
func (f *Found) Empty() bool { return len(f.Highlights)+len(f.OutputPaths) == 0 }

// Bytes is about what it takes.
func (f *Found) Bytes() (n int) {
	for _, list := range [][]string{f.Highlights, f.OutputPaths} {
		for _, text := range list {
			n += len(text) + 4
		}
	}
	return n
}
