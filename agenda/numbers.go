package agenda

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxNumberSpans is how many elements a list of numbers may have.
const maxNumberSpans = 1000

// ParseNumbers reads a list of numbers from 0 and ranges of them, such as 0-3,7.
func ParseNumbers(text string) ([]Span, error) {
	var spans []Span
	for word := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(word, "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.ParseUint(first, 10, 31)
		b, errB := strconv.ParseUint(last, 10, 31)
		switch {
		case errA != nil || errB != nil:
			return nil, fmt.Errorf("%q is no number or range of numbers, such as 0-3", word)
		case b < a:
			return nil, fmt.Errorf("the range %s ends below its beginning", word)
		case len(spans) == maxNumberSpans:
			return nil, fmt.Errorf("there are more than %d numbers and ranges", maxNumberSpans)
		}
		spans = append(spans, Span{First: int(a), Last: int(b), Step: 1})
	}
	return spans, nil
}

// NumbersText writes ascending numbers as ParseNumbers reads them.
func NumbersText(numbers []int) string {
	var text strings.Builder
	for n := 0; n < len(numbers); {
		end := n + 1
		for end < len(numbers) && numbers[end] == numbers[end-1]+1 {
			end++
		}
		if n > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strconv.Itoa(numbers[n]))
		if end-n > 1 {
			text.WriteString("-" + strconv.Itoa(numbers[end-1]))
		}
		n = end
	}
	return text.String()
}

// Within says whether a number is in one of the spans.
func Within(spans []Span, n int) bool {
	return slices.ContainsFunc(spans, func(s Span) bool { return s.Has(n) })
}
