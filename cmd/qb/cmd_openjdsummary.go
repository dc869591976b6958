package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/openjd"
)

// A jobSummary is the result of qb openjd summary, with the members of the reference implementation.
type jobSummary struct {
	result
	Name              string               `json:"name"`
	Parameters        []parameterSummary   `json:"parameter_definitions"`
	TotalSteps        int                  `json:"total_steps"`
	TotalTasks        int64                `json:"total_tasks"`
	TotalEnvironments int                  `json:"total_environments"`
	Environments      []environmentSummary `json:"root_environments"`
	Steps             []stepSummary        `json:"steps"`
}

type parameterSummary struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value string `json:"value,omitempty"`
}

type environmentSummary struct {
	Name        string `json:"name"`
	Parent      string `json:"parent"`
	Description string `json:"description,omitempty"`
}

type stepSummary struct {
	Name         string               `json:"name"`
	Description  string               `json:"description,omitempty"`
	TotalTasks   int64                `json:"total_tasks"`
	Chunks       int64                `json:"total_chunks,omitempty"` // with CHUNK[INT]
	Parameters   []parameterSummary   `json:"parameter_definitions"`
	Environments []environmentSummary `json:"environments"`
	Dependencies []string             `json:"dependencies"`
	Requirements []string             `json:"requirements,omitempty"`
}

func newOpenJDSummaryCommand() *cobra.Command {
	o := &openjdOptions{}
	cmd := &cobra.Command{
		Use: "summary FILE", Short: "Show the job that a template makes: parameters, steps, tasks, environments",
		Example: "  qb openjd summary -p Frames=1-100 template.yaml\n" +
			"  qb openjd summary -p file://parameter_values.yaml -output json template.yaml",
		Args: commandline.WantArgs(1, 1, "template"),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return o.fail(cmd.OutOrStdout(), o.summarize(cmd.OutOrStdout(), files[0]))
		},
	}
	o.bindJob(cmd.Flags())
	return cmd
}

func (o *openjdOptions) summarize(out io.Writer, name string) error {
	j, err := o.job(name)
	if err != nil {
		return err
	}
	if o.step != "" {
		s, err := stepOf(j, o.step)
		if err != nil {
			return err
		}
		one := struct {
			result
			JobName string `json:"job_name"`
			stepSummary
		}{result{"success", fmt.Sprintf("Summary for step '%s' in job '%s'", s.Name, j.Name)}, j.Name, summaryOfStep(s)}
		return o.printResult(out, one, func() error { return printStep(out, one.stepSummary, "") })
	}
	all := jobSummary{Name: j.Name, TotalSteps: len(j.Steps)}
	all.result = result{"success", fmt.Sprintf("Summary for '%s'", j.Name)}
	all.Parameters = []parameterSummary{}
	for _, v := range j.Values {
		all.Parameters = append(all.Parameters, parameterSummary{v.Name, string(v.Type), v.Value})
	}
	all.Environments = summaryOfEnvironments(j.Environments, "root")
	all.TotalEnvironments = len(j.Environments)
	for _, s := range j.Steps {
		summary := summaryOfStep(s)
		all.Steps = append(all.Steps, summary)
		all.TotalTasks += summary.TotalTasks
		all.TotalEnvironments += len(s.Environments)
	}
	return o.printResult(out, all, func() error { return printJob(out, all) })
}

func summaryOfEnvironments(environments []*openjd.Environment, parent string) []environmentSummary {
	out := []environmentSummary{}
	for _, e := range environments {
		out = append(out, environmentSummary{e.Name, parent, e.Description})
	}
	return out
}

func summaryOfStep(s *openjd.Step) stepSummary {
	out := stepSummary{Name: s.Name, Description: s.Description, TotalTasks: s.Space.Values(), Dependencies: []string{}}
	out.Dependencies = append(out.Dependencies, s.Dependencies...)
	out.Parameters = []parameterSummary{}
	for _, p := range s.Space.Parameters() {
		out.Parameters = append(out.Parameters, parameterSummary{Name: p.Name, Type: string(p.Type)})
		if p.Type == openjd.TaskChunk {
			out.Chunks = s.Space.Len()
		}
	}
	out.Environments = summaryOfEnvironments(s.Environments, s.Name)
	for _, a := range s.Amounts {
		words := []string{a.Name}
		if a.Min != nil {
			words = append(words, fmt.Sprintf("from %v", *a.Min))
		}
		if a.Max != nil {
			words = append(words, fmt.Sprintf("to %v", *a.Max))
		}
		out.Requirements = append(out.Requirements, strings.Join(words, " "))
	}
	for _, a := range s.Attributes {
		words := []string{a.Name}
		if len(a.AnyOf) > 0 {
			words = append(words, "any of "+strings.Join(a.AnyOf, ", "))
		}
		if len(a.AllOf) > 0 {
			words = append(words, "all of "+strings.Join(a.AllOf, ", "))
		}
		out.Requirements = append(out.Requirements, strings.Join(words, " "))
	}
	return out
}

func printJob(out io.Writer, j jobSummary) error {
	fmt.Fprintf(out, "--- Summary for '%s' ---\n", output.Escape(j.Name))
	if len(j.Parameters) > 0 {
		fmt.Fprint(out, "\nParameters:\n")
		printParameters(out, "  ", j.Parameters)
	}
	fmt.Fprintf(out, "\nTotal steps: %d\nTotal tasks: %d\n", j.TotalSteps, j.TotalTasks)
	fmt.Fprintf(out, "Total environments: %d\n", j.TotalEnvironments)
	printEnvironments(out, "  ", j.Environments)
	fmt.Fprintf(out, "\n--- Steps in '%s' ---\n", output.Escape(j.Name))
	for i, s := range j.Steps {
		if err := printStep(out, s, fmt.Sprintf("%d. ", i+1)); err != nil {
			return err
		}
	}
	return nil
}

func printStep(out io.Writer, s stepSummary, number string) error {
	fmt.Fprintf(out, "\n%s'%s' (%d total Tasks", number, output.Escape(s.Name), s.TotalTasks)
	if s.Chunks > 0 {
		fmt.Fprintf(out, " in %d chunks", s.Chunks)
	}
	fmt.Fprint(out, ")\n")
	if s.Description != "" {
		fmt.Fprintf(out, "  %s\n", output.Escape(s.Description))
	}
	if len(s.Parameters) > 0 {
		fmt.Fprint(out, "  Task parameters:\n")
		printParameters(out, "    ", s.Parameters)
	}
	printEnvironments(out, "    ", s.Environments)
	if len(s.Dependencies) > 0 {
		fmt.Fprintf(out, "  Depends on: %s\n", output.Escape(strings.Join(s.Dependencies, ", ")))
	}
	for _, r := range s.Requirements {
		fmt.Fprintf(out, "  Needs: %s\n", r)
	}
	return nil
}

func printParameters(out io.Writer, indent string, parameters []parameterSummary) {
	for _, p := range parameters {
		fmt.Fprintf(out, "%s- %s (%s)", indent, p.Name, p.Type)
		if p.Value != "" {
			fmt.Fprintf(out, ": %s", output.Escape(p.Value))
		}
		fmt.Fprintln(out)
	}
}

func printEnvironments(out io.Writer, indent string, environments []environmentSummary) {
	for _, e := range environments {
		fmt.Fprintf(out, "%s- environment %s", indent, output.Escape(e.Name))
		if e.Description != "" {
			fmt.Fprintf(out, ": %s", output.Escape(e.Description))
		}
		fmt.Fprintln(out)
	}
}
