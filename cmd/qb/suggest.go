package main

import "qb/agenda"

// didYouMean is the end of an error's sentence, or nothing.
func didYouMean(prefix, word string, candidates []string) string {
	if best := agenda.Nearest(word, candidates); best != "" {
		return "; did you mean " + prefix + best + "?"
	}
	return ""
}
