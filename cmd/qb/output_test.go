package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"qb/api"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"beauty": "beauty", "größer 日本": "größer 日本", "a\nb\tc": `a\nb\tc`, "\x1b[2Jx": `\x1b[2Jx`,
		"bad\xff": `bad\xff`, "a\u202eb": `a\u202eb`, `C:\new`: `C:\new`, "del\x7f": `del\x7f`,
	} {
		if got := escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\x1b[31m\n\xff\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		if got := escape(s); strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("escape(%q) = %q still has control characters", s, got)
		}
	})
}

type row struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

var rowColumns = []column[row]{
	{name: "name", text: func(r row) string { return r.Name }},
	{name: "n", right: true, text: func(r row) string { return number(&r.N) }},
	{name: "twice", extra: true, text: func(r row) string { n := 2 * r.N; return number(&n) }},
}

func listed(t *testing.T, o listOptions, rows ...row) string {
	t.Helper()
	var out strings.Builder
	l, err := newLister(&out, o, rowColumns)
	if err != nil {
		return err.Error()
	}
	if err := l.add(rows...); err != nil {
		return err.Error()
	}
	if err := l.end(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestLister(t *testing.T) {
	rows := []row{{"日本", 7}, {"a\x1b[2J", 1234}, {"", 1}}
	for _, test := range []struct {
		options listOptions
		rows    []row
		want    string
	}{
		{listOptions{}, rows, "name         n\n日本         7\na\\x1b[2J  1234\n-            1\n"},
		{listOptions{noHeaders: true}, rows[:1], "日本  7\n"},
		{listOptions{fields: "twice, name"}, rows[:1], "twice  name\n14     日本\n"},
		{listOptions{fields: "nam"}, nil, `-fields: no field "nam"; did you mean name?; there are name,n,twice`},
		{listOptions{}, nil, ""},
		{listOptions{json: true}, nil, "[]\n"},
		{listOptions{json: true}, rows[1:], "[\n{\"name\":\"a\\u001b[2J\",\"n\":1234},\n{\"name\":\"\",\"n\":1}\n]\n"},
		{listOptions{json: true, fields: "n"}, rows[:1], "[\n{\"n\":7}\n]\n"},
		{listOptions{long: true}, rows[1:], "name   a\\x1b[2J\nn      1234\ntwice  2468\n\nn      1\ntwice  2\n"},
		{listOptions{long: true, fields: "n"}, rows[:1], "n  7\n"},
		{listOptions{long: true}, nil, ""},
		{listOptions{long: true, json: true}, nil, "-long and -json exclude each other; -json shows all fields too"},
	} {
		if got := listed(t, test.options, test.rows...); got != test.want {
			t.Errorf("%+v prints\n%q, want\n%q", test.options, got, test.want)
		}
	}
}

// More rows than the sample keep streaming with the widths of the sample.
func TestListerStreams(t *testing.T) {
	rows := make([]row, sampleRows+5)
	got := strings.Count(listed(t, listOptions{}, rows...), "\n")
	if got != sampleRows+6 {
		t.Errorf("%d lines for %d rows and a heading", got, sampleRows+5)
	}
	var all []row
	if err := json.Unmarshal([]byte(listed(t, listOptions{json: true}, rows...)), &all); err != nil || len(all) != len(rows) {
		t.Errorf("%d rows came back, %v", len(all), err)
	}
}

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		size(500): "500 B", size(1 << 20): "1.0 MiB", size(3 << 29): "1.5 GiB",
		span(1500 * time.Millisecond): "1.5s", span(90 * time.Second): "1m30s", span(26*time.Hour + 61*time.Second): "26h01m",
		rateText(2): "2.0 items/s", rateText(0.05): "3.0 items/min", rateText(0.001): "3.6 items/h",
		bar(api.ItemCounts{Total: 100, Complete: 50, Running: 1, Failed: 10}, 10): "#####=x...",
		bar(api.ItemCounts{Total: 1, Running: 1}, 4):                              "====",
		bar(api.ItemCounts{}, 4):                                                  "",
		runningText(api.InstanceCounts{Primary: 2, Secondary: 3}):                 "2+3",
		runningText(api.InstanceCounts{Primary: 2, Secondary: 3, Draining: 1}):    "2+3-1",
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
	} {
		if got, err := parseTarget(word); err != nil || got != want {
			t.Errorf("parseTarget(%q) = %+v, %v", word, got, err)
		}
	}
	for _, word := range []string{"", "x", "-1", "0:1", "12:", "12.3", "1e3", "99999999999999999999"} {
		if got, err := parseTarget(word); api.ExitCode(err) != 2 {
			t.Errorf("parseTarget(%q) = %+v, %v; want wrong usage", word, got, err)
		}
	}
}

func TestSuggest(t *testing.T) {
	words := []string{"cpus", "cluster", "priority", "max_cpus"}
	for word, want := range map[string]string{"cpuz": "cpus", "pirority": "priority", "xyz": "", "": "", "mxa_cpus": "max_cpus"} {
		if want != "" {
			want = "; did you mean -" + want + "?"
		}
		if got := didYouMean("-", word, words); got != want {
			t.Errorf("didYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestLearnedText(t *testing.T) {
	asked := int64(4 << 30)
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
		if got := learnedText(c.memory); got != c.want {
			t.Errorf("%+v: %q, want %q", c.memory, got, c.want)
		}
	}
}
