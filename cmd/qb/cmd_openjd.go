package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v4"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/openjd"
)

// openjdName is another name of the program: openjd check is qb openjd check, as the reference implementation's command
// is called.
const openjdName = "openjd"

// openjdRun adds the commands that run actions, which the client build leaves out.
var openjdRun func() []*cobra.Command

const openjdLong = `Read templates of Open Job Description (OpenJD, revision 2023-09): check them, show the job that one makes, run it
here, or submit it. A farm is needed to submit alone. A link named openjd to this program is the same command, with the options of the reference implementation.`

func newOpenJDCommand() *cobra.Command {
	cmd := &cobra.Command{Use: openjdName, Short: "Check and try templates of Open Job Description", Long: openjdLong}
	cmd.AddCommand(newOpenJDCheckCommand(), newOpenJDSummaryCommand(), newOpenJDSubmitCommand())
	if openjdRun != nil {
		cmd.AddCommand(openjdRun()...)
	}
	return cmd
}

// openjdOptions are options that commands on templates share.
type openjdOptions struct {
	extensions   string
	output       string
	parameters   []string
	environments []string
	step         string

	documents []api.OpenJDDocument // that were read, in this order
	ofFarm    map[string]string    // values of a bundle for a farm, such as deadline:priority
}

// bindCommon adds the options of all of these commands.
func (o *openjdOptions) bindCommon(f *pflag.FlagSet) {
	o.bindExtensions(f)
	f.StringVar(&o.output, "output", "human-readable", "print the result in this `FORMAT`: human-readable, json or yaml")
}

func (o *openjdOptions) bindExtensions(f *pflag.FlagSet) {
	f.StringVar(&o.extensions, "extensions", "*",
		"accept these `EXTENSIONS` alone, separated by commas; \"\" accepts none (default: all that qb knows)")
}

// bindJob adds the options of commands that make a job and print a result.
func (o *openjdOptions) bindJob(f *pflag.FlagSet) {
	o.bindCommon(f)
	o.bindValues(f)
	f.StringVar(&o.step, "step", "", "take the step of this `NAME` alone")
}

// bindValues adds the options that a job is made of.
func (o *openjdOptions) bindValues(f *pflag.FlagSet) {
	parameter := func(s string) error { o.parameters = append(o.parameters, s); return nil }
	f.Func("p", "give a parameter its value, `NAME=VALUE`, or several: a JSON object, or file://PATH of JSON or YAML",
		parameter)
	for _, name := range []string{"job-param", "parameter"} {
		f.Func(name, "`NAME=VALUE`: the same as -p", parameter)
		f.Lookup(name).Hidden = true
	}
	environment := func(s string) error { o.environments = append(o.environments, s); return nil }
	f.Func("environment", "add the environment template `FILE` to the job; the first one is entered first", environment)
	f.Func("env", "`FILE`: the same as -environment", environment)
	f.Lookup("env").Hidden = true
}

// check refuses an output that does not exist.
func (o *openjdOptions) check() error {
	formats := []string{"human-readable", "json", "yaml"}
	if !slices.Contains(formats, o.output) {
		return api.Errorf(api.KindUsage, "-output %s: there are human-readable, json and yaml", output.Escape(o.output))
	}
	return nil
}

// accepted are the extensions that a template may name.
func (o *openjdOptions) accepted() []string {
	if o.extensions == "*" {
		return nil
	}
	return strings.FieldsFunc(o.extensions, func(r rune) bool { return r == ',' || r == ' ' })
}

// read reads a template of either kind.
func (o *openjdOptions) read(name string) (openjd.Document, error) {
	text, err := readAtMost(name, openjd.MaxDocument)
	if err != nil {
		return openjd.Document{}, err
	}
	extensions := o.accepted()
	if extensions == nil {
		extensions = openjd.Extensions()
	}
	syntax := openjd.SyntaxOf(name)
	d, err := openjd.Read(text, syntax, extensions)
	document := api.OpenJDDocument{Text: string(text), Syntax: "yaml"}
	if syntax == openjd.JSON {
		document.Syntax = "json"
	}
	o.documents = append(o.documents, document)
	return d, inFile(name, err)
}

// readAtMost reads a file up to one byte beyond a limit, which its reader then refuses.
func readAtMost(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, api.Errorf(api.KindInvalid, "%v", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, api.Errorf(api.KindInvalid, "%v", err)
	}
	return text, nil
}

// inFile names the file that has problems.
func inFile(name string, err error) error {
	var problems openjd.Problems
	if !errors.As(err, &problems) {
		return err
	}
	lines := ""
	for _, p := range problems {
		lines += "\n  " + output.Escape(p.String())
	}
	return api.Errorf(api.KindInvalid, "%s:%s", output.Escape(name), lines)
}

// submission reads the values and the environment templates of the options.
func (o *openjdOptions) submission(template string) (openjd.Submission, error) {
	s := openjd.Submission{Values: map[string]string{}}
	var err error
	if s.WorkingDir, err = os.Getwd(); err != nil {
		return s, err
	}
	if s.TemplateDir, err = filepath.Abs(filepath.Dir(template)); err != nil {
		return s, err
	}
	s.WorkingDir = filepath.ToSlash(s.WorkingDir)
	s.TemplateDir = filepath.ToSlash(s.TemplateDir)
	o.ofFarm = map[string]string{}
	for _, word := range o.parameters {
		values, ofFarm, err := parameterValues(word)
		if err != nil {
			return s, err
		}
		maps.Copy(s.Values, values)
		maps.Copy(o.ofFarm, ofFarm)
	}
	for _, name := range o.environments {
		d, err := o.read(name)
		if err != nil {
			return s, err
		}
		if d.Environment == nil {
			return s, api.Errorf(api.KindInvalid, "-environment %s: the file is a job template, not an environment template",
				output.Escape(name))
		}
		s.Environments = append(s.Environments, d.Environment)
	}
	return s, nil
}

// parameterValues reads one -p.
func parameterValues(word string) (values, ofFarm map[string]string, err error) {
	name, fromFile := strings.CutPrefix(word, "file://")
	if !fromFile && strings.HasPrefix(word, "{") {
		values, ofFarm, err = openjd.ReadValues([]byte(word), openjd.JSON)
		return values, ofFarm, inFile("-p "+word, err)
	}
	if !fromFile {
		name, value, found := strings.Cut(word, "=")
		if !found || name == "" {
			return nil, nil, api.Errorf(api.KindUsage,
				"-p %s: write NAME=VALUE, a JSON object, or file:// and the path of a JSON or YAML file", output.Escape(word))
		}
		return map[string]string{name: value}, nil, nil
	}
	text, err := readAtMost(name, openjd.MaxDocument)
	if err != nil {
		return nil, nil, err
	}
	values, ofFarm, err = openjd.ReadValues(text, openjd.SyntaxOf(name))
	return values, ofFarm, inFile(name, err)
}

// job makes the job of a template and the options.
func (o *openjdOptions) job(name string) (*openjd.Job, error) {
	t, err := o.readJob(name)
	if err != nil {
		return nil, err
	}
	s, err := o.submission(name)
	if err != nil {
		return nil, err
	}
	j, err := openjd.CreateJob(t, s)
	return j, inFile(name, err)
}

// readJob reads a job template.
func (o *openjdOptions) readJob(name string) (*openjd.JobTemplate, error) {
	d, err := o.read(name)
	if err == nil && d.Job == nil {
		err = api.Errorf(api.KindInvalid, "%s: the file is an environment template; give a job template, and this one with -environment",
			output.Escape(name))
	}
	return d.Job, err
}

// stepOf finds a step by its name.
func stepOf(j *openjd.Job, name string) (*openjd.Step, error) {
	var names []string
	for _, s := range j.Steps {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return nil, api.Errorf(api.KindNotFound, "-step %s: the job has no such step%s", output.Escape(name),
		output.DidYouMean("", name, names))
}

// result is the result of a command for -output json and yaml, as the reference implementation prints it.
type result struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// printResult prints a result in the format of -output; human prints it for people.
func (o *openjdOptions) printResult(out io.Writer, v any, human func() error) error {
	if o.output == "human-readable" {
		return human()
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil && o.output == "yaml" {
		var plain any
		if err = json.Unmarshal(text, &plain); err == nil {
			text, err = yaml.Dump(plain)
		}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, strings.TrimRight(string(text), "\n"))
	return err
}

// fail prints an error in the format of -output, too.
func (o *openjdOptions) fail(out io.Writer, err error) error {
	var refused *api.Error
	if err == nil || o.output == "human-readable" || !errors.As(err, &refused) || refused.Kind == api.KindUsage {
		return err
	}
	if printed := o.printResult(out, result{"error", err.Error()}, nil); printed != nil {
		return printed
	}
	return commandline.ErrSilent
}

func newOpenJDCheckCommand() *cobra.Command {
	o := &openjdOptions{}
	cmd := &cobra.Command{
		Use: "check FILE", Short: "Check a job template or an environment template, and report all that is wrong",
		Example: "  qb openjd check template.yaml\n  qb openjd check -extensions TASK_CHUNKING template.yaml",
		Args:    commandline.WantArgs(1, 1, "template"),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := o.check(); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			_, err := o.read(files[0])
			if err != nil {
				return o.fail(out, err)
			}
			r := result{"success", fmt.Sprintf("Template at '%s' passes validation checks.", output.Escape(files[0]))}
			return o.printResult(out, r, func() error {
				_, err := fmt.Fprintln(out, r.Message)
				return err
			})
		},
	}
	o.bindCommon(cmd.Flags())
	return cmd
}
