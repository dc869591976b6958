package translate

import (
	"math"
	"strconv"
	"strings"

	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
)

// ReadIfMatch returns the requested version; 0 means any.
func ReadIfMatch(header string) (int64, error) {
	text := strings.TrimSpace(header)
	if text == "" || text == "*" {
		return 0, nil
	}
	text = strings.Trim(strings.TrimPrefix(text, "W/"), `"`)
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || version < 1 {
		return 0, problem.Invalid("If-Match", "%q is no version of a job; give the ETag of your last read",
			problem.Clip(header))
	}
	return version, nil
}

// ReadAfter reads the last attempt of the page before: ITEM.ATTEMPT, empty for none.
func ReadAfter(text string) (facts.AttemptID, error) {
	if text == "" {
		return facts.AttemptID{}, nil
	}
	item, number, ok := strings.Cut(text, ".")
	i, err1 := strconv.Atoi(item)
	n, err2 := strconv.Atoi(number)
	if !ok || err1 != nil || err2 != nil || i < 0 || n < 0 || i > math.MaxInt32 || n > math.MaxInt32 {
		return facts.AttemptID{}, problem.Invalid("after", "%q; write ITEM.ATTEMPT, such as 11.1", problem.Clip(text))
	}
	return facts.AttemptID{Item: facts.ItemNo(i), Number: n}, nil
}
