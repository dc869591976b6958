package main

import (
	"fmt"
	"strings"
	"testing"

	"qb/api"
)

func TestTreeNodes(t *testing.T) {
	t.Parallel()
	job := func(id int64, name, label, dependency string) api.Job {
		return api.Job{ID: id, Name: name, Label: label, Dependency: dependency, Status: "pending", Items: api.ItemCounts{Total: 2, Complete: 1, Failed: 1}}
	}
	last := func(j api.Job, before ...int64) api.Job {
		j.Before = before
		return j
	}
	for want, jobs := range map[string][]api.Job{
		`
1 model (m)|
├─ 2 light (l)|
│  ├─ 4 comp|3
│  └─ 6 proof|
└─ 3 fx|99
5 alone|link-done-work-nobody`: {
			job(6, "proof", "", "link-complete-job-l"), job(1, "model", "m", ""), job(2, "light", "l", "1"), job(3, "fx", "", "link-done-work-m,link-complete-job-1,99"), job(4, "comp", "", "link-complete-job-2,3"),
			job(5, "alone", "", "link-done-work-nobody"),
		},
		`
7 a (a)|8
└─ 8 b (b)|`: {job(7, "a", "a", "link-complete-job-b"), job(8, "b", "b", "link-complete-job-a")}, // what no farm takes is drawn all the same
		`
2 preview (beauty)|
├─ 5 comp|3,4
│  └─ 7 movie|
└─ 6 grade|3,4
3 preview (beauty)|
4 beauty (beauty)|
9 rest|link-done-job-8`: { // a submission that became three jobs, and one whose first job is in another group
			job(2, "preview", "", ""), job(3, "preview", "", ""), last(job(4, "beauty", "beauty", ""), 2, 3), job(5, "comp", "", "link-complete-work-beauty"),
			job(6, "grade", "", "link-done-job-2,4"), last(job(7, "movie", "", "5"), 1), job(9, "rest", "", "link-done-job-8"),
		},
		"": nil,
	} {
		got := ""
		for _, n := range treeNodes(jobs) {
			got += fmt.Sprintf("\n%s|%s", n.job(), n.waits())
		}
		if got = strings.Replace(got, "99|", "", 1); got != want {
			t.Errorf("%s\nwant%s", got, want)
		}
	}
	if n := treeNodes([]api.Job{job(1, "a", "", "")})[0]; n.done() != "1/2, 1 failed" {
		t.Errorf("%q", n.done())
	}
}
