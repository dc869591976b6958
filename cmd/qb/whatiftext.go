package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/supervisor/job/facts"
)

// stopsShown is how many items that stop are named.
const stopsShown = 20

// printWhatIf prints an answer: whole for programs, or as a table of the jobs that gain and lose and lines beside it. s
// is nil if no submission was tried.
func printWhatIf[T any](out io.Writer, o output.ListOptions, whole T, r *api.WhatIfReply,
	s *api.WhatIfSubmission) error {
	if o.Whole() {
		return output.Print(output.PartialOutput{Writer: out}, "", o, []output.Column[T]{}, output.Rows([]T{whole}))
	}
	var b strings.Builder
	if s != nil {
		b.WriteString(submissionText(s))
	}
	if len(r.Jobs) == 0 {
		b.WriteString("no job gains or loses an instance\n")
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	if len(r.Jobs) > 0 {
		if err := output.Print(output.PartialOutput{Writer: out}, "", output.ListOptions{}, whatIfColumns,
			output.Rows(r.Jobs)); err != nil {
			return err
		}
	}
	b.Reset()
	if more := r.Moved - len(r.Jobs); more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	writeStops(&b, r)
	fmt.Fprintf(&b, "slots left free: %d, %d without the change\n", r.FreeAfter, r.FreeBefore)
	_, err := io.WriteString(out, b.String())
	return err
}

var whatIfColumns = []output.Column[api.WhatIfJob]{
	{Name: "job", Right: true, Text: func(j api.WhatIfJob) string {
		if j.Job == 0 {
			return "new"
		}
		return strconv.FormatInt(j.Job, 10)
	}},
	{Name: "runs_now", Right: true, Text: func(j api.WhatIfJob) string { return whatIfCounts(j.Running) }},
	{Name: "without", Right: true, Text: func(j api.WhatIfJob) string { return whatIfCounts(j.Before) }},
	{Name: "with", Right: true, Text: func(j api.WhatIfJob) string { return whatIfCounts(j.After) }},
	{Name: "change", Text: whatIfChange},
}

func whatIfCounts(c api.WhatIfCounts) string {
	return output.Running(api.InstanceCounts{Primary: c.Primary, Secondary: c.Secondary})
}

func whatIfChange(j api.WhatIfJob) string {
	switch more := j.After.Primary + j.After.Secondary - j.Before.Primary - j.Before.Secondary; {
	case more > 0:
		return fmt.Sprintf("gains %d", more)
	case more < 0:
		return fmt.Sprintf("loses %d", -more)
	case j.After.Primary > j.Before.Primary:
		return "promoted"
	}
	return "demoted"
}

// submissionText says when the job would start.
func submissionText(s *api.WhatIfSubmission) string {
	var b strings.Builder
	switch s.Start {
	case "now":
		fmt.Fprintf(&b, "starts %d of %s at once\n", s.Now, facts.Several(s.Items, "item"))
	case "after-stops":
		fmt.Fprintf(&b, "starts %d of %s when what stops for it has ended%s\n", s.Stopped, facts.Several(s.Items, "item"),
			earliestText(s.Earliest))
	default:
		fmt.Fprintf(&b, "starts later%s: %s\n", earliestText(s.Earliest),
			cmp.Or(output.Escape(s.Reason), "this plan has no slot for it"))
	}
	if s.Start == "now" && s.Stopped > 0 {
		fmt.Fprintf(&b, "and %d when what stops for them has ended\n", s.Stopped)
	}
	return b.String()
}

func earliestText(seconds *float64) string {
	if seconds == nil || *seconds < 1 {
		return ""
	}
	return ", not before " + output.Seconds(*seconds)
}

// writeStops names the items that stop, and the work that they lose.
func writeStops(b *strings.Builder, r *api.WhatIfReply) {
	if r.Stopped == 0 {
		return
	}
	what := "stop"
	if r.Passive {
		what = "are the last of their instance"
	}
	fmt.Fprintf(b, "%s %s", facts.Several(r.Stopped, "item"), what)
	if lost := r.LostAfter - r.LostBefore; lost > 0 && !r.Passive {
		fmt.Fprintf(b, " and lose %s of work", output.Seconds(lost))
	}
	b.WriteString(":")
	for n, stop := range r.Stops {
		if n == stopsShown {
			fmt.Fprintf(b, " and %d more", r.Stopped-stopsShown)
			break
		}
		fmt.Fprintf(b, " %s", output.Escape(fmt.Sprintf("%d:%s", stop.Job, stop.Item)))
	}
	b.WriteString("\n")
}
