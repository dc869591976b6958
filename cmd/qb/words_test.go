package main

import (
	"testing"
	"time"

	"qb/api"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		rateText(2): "2.0 items/s", rateText(0.05): "3.0 items/min", rateText(0.001): "3.6 items/h",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestProgressText(t *testing.T) {
	job := api.Job{ID: 12, Status: "running", Instances: api.InstanceCounts{Primary: 2, Secondary: 3},
		Items: api.ItemCounts{Total: 100, Complete: 40, Running: 5, Pending: 54, Failed: 1}}
	want := "job 12 running: 40/100 done, 2+3 running, 1 failed, 2.0 items/s, 29s left"
	if got := progressText(job, 20, 10*time.Second); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	want = "job 12 running: 40/100 done, 2+3 running, 1 failed"
	if got := progressText(job, 40, 10*time.Second); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestParseTarget(t *testing.T) {
	for word, want := range map[string]target{
		"12": {word: "12", job: 12}, "12:25-29,40": {word: "12:25-29,40", job: 12, items: "25-29,40"},
		"12.3": {word: "12.3", job: 12, instances: "3"}, "12.0-3,7": {word: "12.0-3,7", job: 12, instances: "0-3,7"},
	} {
		if got, err := parseTarget(word); err != nil || got != want {
			t.Errorf("parseTarget(%q) = %+v, %v", word, got, err)
		}
	}
	for _, word := range []string{"", "x", "-1", "0:1", "12:", "12.", "12.x", "12.3:4", "12.3-1", "1e3", "99999999999999999999"} {
		if got, err := parseTarget(word); api.ExitCode(err) != 2 {
			t.Errorf("parseTarget(%q) = %+v, %v; want wrong usage", word, got, err)
		}
	}
}

func TestLearnedText(t *testing.T) {
	asked := int64(4 << 30)
	if got := learnedText(api.JobMemory{Need: asked}, &api.Learned{Memory: asked, Items: 40, Jobs: 2}); got != "learned from 40 items of 2 jobs of its profile" {
		t.Errorf("%q", got)
	}
	for _, c := range []struct {
		memory api.JobMemory
		want   string
	}{
		{api.JobMemory{}, "not known yet: supervisor_default_memory or less"},
		{api.JobMemory{Need: asked, Requested: &asked}, "as requested"},
		{api.JobMemory{Need: asked, Requested: &asked, RanOut: 1}, "as requested; 1 ran out of memory and may get more"},
		{api.JobMemory{Need: 2 * asked, Requested: &asked, LargestPeak: asked, RanOut: 1}, "more than what was not enough; 1 ran out of memory and may get more"},
		{api.JobMemory{Need: 5 << 30, LargestPeak: 5 << 30}, "learned from items that did not complete"},
		{api.JobMemory{Need: 300 << 20, LargestPeak: 300 << 20, Returned: 1}, "learned from 1 complete item"},
		{api.JobMemory{Need: 300 << 20, LargestPeak: 310 << 20, Returned: 24, RanOut: 2}, "learned from 24 complete items; 2 ran out of memory and may get more"},
	} {
		if got := learnedText(c.memory, nil); got != c.want {
			t.Errorf("%+v: %q, want %q", c.memory, got, c.want)
		}
	}
}
