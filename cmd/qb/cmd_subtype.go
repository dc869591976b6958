package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/openjd"
	"qb/supervisor/job/facts"
)

// typeOfFarm is the job type that -type names; "": it is one of the three that say how a command runs, or none.
func typeOfFarm(cmd *cobra.Command) string {
	if name := strings.TrimSpace(cmd.Flags().Lookup("type").Value.String()); !slices.Contains(facts.JobTypes, name) {
		return name
	}
	return ""
}

// runType submits a job of a job type: the word is its file, -range its range, and -param gives the other parameters.
func (o *subOptions) runType(cmd *cobra.Command, name string, words []string) error {
	for _, option := range []string{"export", "import", "whatif", "reverse", "binary"} {
		if cmd.Flags().Changed(option) {
			return api.Errorf(api.KindUsage, "-%s is for jobs with a command, and -type %s is a job type", option,
				output.Escape(name))
		}
	}
	c := connect(cmd)
	t, err := call[api.JobType](cmd.Context(), c, api.GetJobType, api.Params{"type": name}, nil)
	if err != nil {
		return err
	}
	r := &api.OpenJDRequest{Type: name}
	if r.Values, err = o.typeValues(cmd, t, words); err != nil {
		return err
	}
	jobs, err := o.submitOpenJD(cmd, c, r, nil)
	for n := 0; err == nil && o.waitOn && n < len(jobs); n++ {
		err = waitOn(cmd, c, jobs[n].Job)
	}
	return err
}

// typeValues are the values of a type's parameters, with paths joined with the current folder.
func (o *subOptions) typeValues(cmd *cobra.Command, t api.JobType, words []string) (map[string]string, error) {
	given, err := namedValues(o.parameters)
	if err != nil {
		return nil, err
	}
	switch {
	case len(words) > 1 || len(words) == 1 && t.File == "":
		return nil, api.Errorf(api.KindUsage, "%s is one word too many for the job type %s; give parameters as -param NAME=VALUE (qb type show %s)",
			output.Escape(words[len(words)-1]), t.Name, t.Name)
	case len(words) == 1:
		given[t.File] = words[0]
	}
	if cmd.Flags().Changed("range") {
		if t.Range == "" {
			return nil, api.Errorf(api.KindUsage, "-range: the job type %s has none (qb type show %s)", t.Name, t.Name)
		}
		given[t.Range] = strings.ReplaceAll(cmd.Flags().Lookup("range").Value.String(), "x", ":")
	}
	folder, err := os.Getwd()
	if err != nil {
		return nil, api.Errorf(api.KindUsage, "the current folder has no name: %v", err)
	}
	return joinedValues(t, given, folder)
}

// namedValues are the values of -param.
func namedValues(pairs []string) (map[string]string, error) {
	given := map[string]string{}
	for _, pair := range pairs {
		name, value, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, api.Errorf(api.KindUsage, "-param %s: write NAME=VALUE", output.Escape(pair))
		}
		given[name] = value
	}
	return given, nil
}

// joinedValues are values of a type's parameters, with paths joined with a folder.
func joinedValues(t api.JobType, given map[string]string, folder string) (map[string]string, error) {
	template, err := openjd.ReadJob([]byte(t.Template.Text), openjd.YAML)
	if err != nil {
		return nil, api.Errorf(api.KindUnavailable, "the template of the job type %s cannot be read here: %v", t.Name, err)
	}
	return openjd.Joined(template, openjd.Submission{Values: given, WorkingDir: filepath.ToSlash(folder)})
}

func newTypeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "type", Short: "List, show, test and write job types, which are forms of jobs without a shell",
		Long: "List, show, test and write job types: forms of jobs that need no shell, built in or of the site. Submit one by qbsub -type NAME FILE -range ITEMS."}
	cmd.AddCommand(newTypeListCommand(), newTypeShowCommand(), newTypeTestCommand(), newTypeNewCommand())
	return cmd
}

var typeColumns = []output.Column[api.JobType]{
	{Name: "name"}, {Name: "version"}, {Name: "file"}, {Name: "range"}, {Name: "site"}, {Name: "description"},
}

var parameterColumns = []output.Column[api.OpenJDParameter]{
	{Name: "name"}, {Name: "type"},
	{Name: "default", Text: func(p api.OpenJDParameter) string {
		if p.Default == nil {
			return "(to be given)"
		}
		return *p.Default
	}},
	{Name: "allowed", Text: func(p api.OpenJDParameter) string { return strings.Join(p.Allowed, ", ") }},
	{Name: "description"},
}

func newTypeListCommand() *cobra.Command {
	var o output.ListOptions
	cmd := &cobra.Command{Use: "list", Short: "List the job types of the farm", Args: commandline.WantArgs(0, 0, ""),
		Example: "  qb type list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return output.Print(cmd, "this farm has no job types", o, typeColumns, func() ([]api.JobType, error) {
				return call[[]api.JobType](cmd.Context(), connect(cmd), api.ListJobTypes, nil, nil)
			})
		}}
	o.Bind(cmd.Flags())
	return cmd
}

func newTypeShowCommand() *cobra.Command {
	var asTemplate bool
	var o output.ListOptions
	cmd := &cobra.Command{Use: "show NAME", Short: "Show the parameters of a job type", Args: commandline.WantArgs(1, 1, "job type"),
		Example: "  qb type show blender\n  qb type show -template blender",
		RunE: func(cmd *cobra.Command, words []string) error {
			c := connect(cmd)
			if asTemplate {
				t, err := call[api.JobType](cmd.Context(), c, api.GetJobType, api.Params{"type": words[0]}, nil)
				if err == nil {
					_, err = fmt.Fprint(cmd.OutOrStdout(), t.Template.Text)
				}
				return err
			}
			return output.Print(cmd, "the job type has no parameters", o, parameterColumns,
				func() ([]api.OpenJDParameter, error) {
					seen, err := call[api.OpenJDCheck](cmd.Context(), c, api.CheckOpenJD, nil, api.OpenJDRequest{Type: words[0]})
					return seen.Parameters, err
				})
		}}
	o.Bind(cmd.Flags())
	cmd.Flags().BoolVar(&asTemplate, "template", false, "print its template of Open Job Description")
	return cmd
}
