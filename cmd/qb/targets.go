package main

import (
	"slices"
	"strconv"
	"strings"

	"qb/agenda"
	"qb/api"
)

// target is one word of a command line that names a job, some items of it as JOB:ITEMS, or instances as JOB.NUMBERS.
type target struct {
	word      string
	job       int64
	items     string
	instances string
}

// part says whether the target is less than a job.
func (t target) part() bool { return t.items != "" || t.instances != "" }

func parseTarget(word string) (target, error) {
	id, items, some := strings.Cut(word, ":")
	id, instances, ofInstances := strings.Cut(id, ".")
	job, err := strconv.ParseInt(id, 10, 64)
	if err == nil && ofInstances {
		_, err = agenda.ParseNumbers(instances)
	}
	if err != nil || job <= 0 || some && (items == "" || ofInstances) {
		if hint := listHint(word); hint != "" {
			return target{}, api.Errorf(api.KindUsage, "%q is a list of job ids%s", word, hint)
		}
		return target{}, api.Errorf(api.KindUsage,
			"%q is neither a job id nor items as JOB:ITEMS such as 12:25-29, nor instances as JOB.NUMBERS such as 12.0-3", word)
	}
	word = strconv.FormatInt(job, 10) + strings.TrimLeft(word, "+0123456789") // 012:3 is 12:3
	return target{word: word, job: job, items: items, instances: instances}, nil
}

func jobParam(job int64) api.Params { return api.Params{"job": strconv.FormatInt(job, 10)} }

// parseTargets reads what the words name, each thing once.
func parseTargets(words []string) (targets []target, all bool, err error) {
	for _, word := range words {
		if word == "0" {
			all = true
			continue
		}
		t, err := parseTarget(word)
		if err != nil {
			return nil, false, err
		}
		if !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	if all && len(targets) > 0 {
		return nil, false, api.Errorf(api.KindUsage, "0 stands for all of your jobs; do not name others beside it")
	}
	return targets, all, nil
}
