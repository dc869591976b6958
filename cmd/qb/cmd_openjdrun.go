//go:build !client

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/openjd"
	"qb/openjd/session"
)

func init() {
	openjdRun = func() []*cobra.Command { return []*cobra.Command{newOpenJDRunCommand(), newOpenJDSessionCommand()} }
}

// openjdRunOptions are the options of qb openjd run.
type openjdRunOptions struct {
	openjdOptions
	task         []string
	tasks        string
	most         int64
	dependencies bool
	pathRules    string
	preserve     bool
	log          io.Writer // gets the output of actions
	ran          int64     // tasks
	began        time.Time
}

const openjdRunLong = `Run a job of a template on this machine, without a farm: a session for each step, in the order of their dependencies.
In a session the environments are entered, the tasks run one after another, and the environments are left in reverse. A
failure ends the run. The output of the actions is printed with secrets masked.`

func newOpenJDRunCommand() *cobra.Command {
	o := &openjdRunOptions{}
	cmd := &cobra.Command{
		Use: "run FILE", Short: "Run a job of a template on this machine, without a farm", Long: openjdRunLong,
		Example: "  qb openjd run -p Frames=1-2 template.yaml\n  qb openjd run -step Render -t Frame=7 template.yaml",
		Args:    commandline.WantArgs(1, 1, "template"),
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := o.check(); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			o.log = out
			if o.output != "human-readable" {
				o.log = cmd.ErrOrStderr()
			}
			return o.fail(out, o.run(cmd.Context(), out, files[0]))
		},
	}
	f := cmd.Flags()
	o.bindJob(f)
	task := func(s string) error { o.task = append(o.task, s); return nil }
	f.Func("t", "run one task of the step, in which a task parameter has the value `NAME=VALUE`", task)
	f.Func("task-param", "`NAME=VALUE`: the same as -t", task)
	f.Lookup("task-param").Hidden = true
	f.StringVar(&o.tasks, "tasks", "", "run these `TASKS` of the step: a JSON list of objects, or file://PATH of JSON or YAML")
	f.Int64Var(&o.most, "maximum-tasks", -1, "run at most `N` tasks of each step; -1: all")
	f.BoolVar(&o.dependencies, "run-dependencies", false, "with -step, run the steps that it depends on before it")
	f.Bool("no-run-dependencies", true, "do not (default)")
	f.StringVar(&o.pathRules, "path-mapping-rules", "", "map paths by these `RULES`: JSON, or file://PATH of JSON")
	f.BoolVar(&o.preserve, "preserve", false, "leave the folders of the sessions")
	f.Bool("verbose", false, "taken for the reference implementation's sake")
	f.String("timestamp-format", "", "taken for the reference implementation's sake: `FORMAT`")
	for _, name := range []string{"no-run-dependencies", "verbose", "timestamp-format"} {
		f.Lookup(name).Hidden = true
	}
	return cmd
}

// A openjdRunResult is the result of qb openjd run, with the members of the reference implementation.
type openjdRunResult struct {
	result
	JobName  string  `json:"job_name"`
	StepName string  `json:"step_name,omitempty"`
	Duration float64 `json:"duration"` // seconds
	Tasks    int64   `json:"tasks_run"`
}

func (o *openjdRunOptions) run(ctx context.Context, out io.Writer, name string) error {
	j, err := o.job(name)
	if err != nil {
		return err
	}
	steps, err := o.steps(j)
	if err != nil {
		return err
	}
	rules, err := o.rules()
	if err != nil {
		return err
	}
	o.began = time.Now()
	var failed error
	for _, s := range steps {
		tasks, err := o.tasksOf(j, s)
		if err != nil {
			return err
		}
		if failed = o.runStep(ctx, j, s, tasks, rules); failed != nil {
			break
		}
	}
	r := openjdRunResult{JobName: j.Name, StepName: o.step, Duration: time.Since(o.began).Seconds(), Tasks: o.ran}
	r.result = result{"success", "Session ended successfully"}
	if failed != nil {
		r.result = result{"error", fmt.Sprintf("Session ended with errors: %v", failed)}
	}
	err = o.printResult(out, r, func() error {
		_, err := fmt.Fprintf(out, "\n--- Results of local session ---\n\n%s\n\nJob: %s\nTasks run: %d\nDuration: %.1f s\n",
			output.Escape(r.Message), output.Escape(r.JobName), r.Tasks, r.Duration)
		return err
	})
	if failed != nil {
		return errors.Join(commandline.ErrSilent, err)
	}
	return err
}

// steps are the steps to run, in their order.
func (o *openjdRunOptions) steps(j *openjd.Job) ([]*openjd.Step, error) {
	chosen := len(o.task) > 0 || o.tasks != ""
	switch {
	case len(o.task) > 0 && o.tasks != "":
		return nil, api.Errorf(api.KindUsage, "-t and -tasks: give one of them")
	case chosen && o.most >= 0:
		return nil, api.Errorf(api.KindUsage, "-maximum-tasks chooses among all tasks; leave it out with -t or -tasks")
	case o.step == "" && chosen && len(j.Steps) > 1:
		return nil, api.Errorf(api.KindUsage, "the job has %d steps; say by -step whose tasks are meant", len(j.Steps))
	case o.step == "" && o.dependencies:
		return nil, api.Errorf(api.KindUsage, "-run-dependencies is for -step; without it all steps run")
	case o.step == "":
		return j.Ordered(), nil
	}
	s, err := stepOf(j, o.step)
	if err != nil {
		return nil, err
	}
	if o.dependencies {
		return j.Needed(s), nil
	}
	return []*openjd.Step{s}, nil
}

func (o *openjdRunOptions) rules() ([]openjd.PathRule, error) {
	if o.pathRules == "" {
		return nil, nil
	}
	text := []byte(o.pathRules)
	if name, fromFile := strings.CutPrefix(o.pathRules, "file://"); fromFile {
		var err error
		if text, err = readAtMost(name, openjd.MaxDocument); err != nil {
			return nil, err
		}
	}
	rules, err := openjd.ReadPathRules(text)
	if err != nil {
		return nil, api.Errorf(api.KindInvalid, "-path-mapping-rules: %v", err)
	}
	return rules, nil
}

// tasksOf gives the values of a step's tasks, one after another. Of the steps that another one needs, all tasks run.
func (o *openjdRunOptions) tasksOf(j *openjd.Job, s *openjd.Step) (func(yield func([]openjd.TaskValue) bool), error) {
	chosen := len(o.task) > 0 || o.tasks != ""
	if !chosen || o.step != "" && s.Name != o.step {
		most := s.Space.Len()
		if o.most >= 0 && (o.step == "" || s.Name == o.step) {
			most = min(most, o.most)
		}
		return func(yield func([]openjd.TaskValue) bool) {
			for n := int64(0); n < most && yield(s.Space.At(n)); n++ {
			}
		}, nil
	}
	if len(s.Space.Parameters()) == 0 {
		return nil, api.Errorf(api.KindUsage, "step %s has no task parameters; leave -t and -tasks out",
			output.Escape(s.Name))
	}
	wanted, err := o.wantedTasks()
	if err != nil {
		return nil, err
	}
	var tasks [][]openjd.TaskValue
	for _, values := range wanted {
		task, err := s.Space.Task(values)
		if err != nil {
			return nil, api.Errorf(api.KindInvalid, "step %s: %v", output.Escape(s.Name), err)
		}
		tasks = append(tasks, task)
	}
	return slices.Values(tasks), nil
}

// wantedTasks reads -t or -tasks.
func (o *openjdRunOptions) wantedTasks() ([]map[string]string, error) {
	if o.tasks != "" {
		text := []byte(o.tasks)
		syntax := openjd.JSON
		name, fromFile := strings.CutPrefix(o.tasks, "file://")
		if fromFile {
			var err error
			if text, err = readAtMost(name, openjd.MaxDocument); err != nil {
				return nil, err
			}
			syntax = openjd.SyntaxOf(name)
		}
		tasks, err := openjd.ReadTasks(text, syntax)
		return tasks, inFile("-tasks", err)
	}
	task := map[string]string{}
	for _, word := range o.task {
		name, value, found := strings.Cut(word, "=")
		_, twice := task[name]
		if !found || name == "" || twice {
			return nil, api.Errorf(api.KindUsage, "-t %s: write NAME=VALUE, each name once", output.Escape(word))
		}
		task[name] = value
	}
	return []map[string]string{task}, nil
}

// runStep runs tasks of a step in a session.
func (o *openjdRunOptions) runStep(ctx context.Context, j *openjd.Job, step *openjd.Step,
	tasks func(yield func([]openjd.TaskValue) bool), rules []openjd.PathRule) error {
	s, err := session.New(j, session.Config{
		Environ: os.Environ(), Rules: rules, Preserve: o.preserve,
		Log: func(line string) { fmt.Fprintln(o.log, output.Escape(line)) },
	})
	if err != nil {
		return err
	}
	ran, failed := runTasks(ctx, s, j, step, tasks)
	o.ran += ran
	// Environments are left also after Ctrl-C, each within its own time limit. A second Ctrl-C cancels that.
	leaving, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	closed := s.Close(leaving)
	if failed != nil {
		return failed
	}
	return closed
}

// runTasks enters the environments of a step and runs tasks, until one fails. It says how many succeeded.
func runTasks(ctx context.Context, s *session.Session, j *openjd.Job, step *openjd.Step,
	tasks func(yield func([]openjd.TaskValue) bool)) (ran int64, err error) {
	if err := enterAll(ctx, s, j, step); err != nil {
		return 0, err
	}
	for task := range tasks {
		if err := s.Run(ctx, step, task); err != nil {
			return ran, err
		}
		ran++
	}
	return ran, nil
}

// enterAll enters the environments of a job, then those of a step.
func enterAll(ctx context.Context, s *session.Session, j *openjd.Job, step *openjd.Step) error {
	for _, e := range slices.Concat(j.Environments, step.Environments) {
		if err := s.Enter(ctx, e); err != nil {
			return err
		}
	}
	return nil
}
