package main

import (
	"fmt"
	"strconv"
	"strings"

	"qb/agenda"
	"qb/api"
)

// jobID reads the id of a job as it was typed.
func jobID(word string) (int64, error) {
	id, err := strconv.ParseInt(word, 10, 64)
	if err != nil || id < 1 {
		hint := "; ids are numbers from 1"
		if list := listHint(word); list != "" {
			hint = list
		}
		return 0, api.Errorf(api.KindUsage, "%q is no job id%s", word, hint)
	}
	return id, nil
}

// longRange is the number of ids from which on a hint writes a range for the shell to expand.
const longRange = 10

// listHint says what to type in place of a list of job ids in one word, such as 3,4 or 3-5; "" if the word is no
// such list.
func listHint(word string) string {
	spans, err := agenda.ParseNumbers(word)
	if err != nil || len(spans) == 1 && spans[0].First == spans[0].Last {
		return ""
	}
	var ids []string
	for _, span := range spans {
		if span.First < 1 {
			return ""
		}
		if span.Last-span.First >= longRange {
			ids = append(ids, fmt.Sprintf("$(seq %d %d)", span.First, span.Last))
			continue
		}
		for id := span.First; id <= span.Last; id++ {
			ids = append(ids, strconv.Itoa(id))
		}
	}
	return "; write each id as a word of its own: " + strings.Join(ids, " ")
}

// jobIDs reads the id of a job of each word.
func jobIDs(words []string) (ids []int64, err error) {
	for _, word := range words {
		id, err := jobID(word)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
