package main

// suggest returns the candidate that a mistyped word most probably meant, or "".
func suggest(word string, candidates []string) string {
	best, limit := "", max(1, len(word)/3)+1
	for _, candidate := range candidates {
		if d := distance(word, candidate, limit); d < limit {
			best, limit = candidate, d
		}
	}
	return best
}

// didYouMean is the end of an error's sentence, or nothing.
func didYouMean(prefix, word string, candidates []string) string {
	if s := suggest(word, candidates); s != "" {
		return "; did you mean " + prefix + s + "?"
	}
	return ""
}

// distance counts the edits between two words: a letter put in, left out, changed, or two neighbours
// swapped. It gives up at limit, so that long words cost little.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}
