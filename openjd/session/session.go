package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"qb/openjd"
)

// Config is what a session runs with.
type Config struct {
	Dir      string            // where the session's folder is made; "" is the system's folder for such
	Environ  []string          // variables of all actions, NAME=VALUE
	Rules    []openjd.PathRule // paths of the submitting system on this machine
	Preserve bool              // leave the folder
	Notice   time.Duration     // the most that a canceled action has after its notification; 0: what its template says
	Log      func(line string) // gets each line of output, with secrets masked
	Report   func(m Message)   // gets messages of actions; nil: none
}

// marker is the variable by which processes of a session are found.
const marker = "QB_OPENJD_SESSION"

// A Session runs actions of one job. It is used by one goroutine.
type Session struct {
	config  Config
	job     *openjd.Job
	id      string
	dir     string
	entered []*entered
	ended   error // why no more actions run
	folders int
	outputs []*lines

	output   sync.Mutex // of what readers of output use
	secrets  secrets
	readers  sync.WaitGroup
	redacted bool // secrets are set as variables, not masked alone
}

// entered is an environment that was entered, or attempted.
type entered struct {
	environment *openjd.Environment
	sets        map[string]string
	unsets      map[string]bool
	folder      string // of its files
}

// New makes a session with its folder.
func New(j *openjd.Job, c Config) (*Session, error) {
	dir, err := os.MkdirTemp(c.Dir, "openjd-session-")
	if err != nil {
		return nil, err
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Session{config: c, job: j, dir: dir, id: rand.Text()}
	s.redacted = slices.Contains(j.Extensions, openjd.RedactedEnvVars)
	if s.config.Report == nil {
		s.config.Report = func(Message) {}
	}
	if err := os.WriteFile(s.rulesFile(), openjd.WritePathRules(c.Rules), 0o600); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// Use has actions run with these variables from now on, in place of those of the configuration.
func (s *Session) Use(environ []string) { s.config.Environ = environ }

// Dir is the working folder of the session's actions.
func (s *Session) Dir() string { return s.dir }

func (s *Session) rulesFile() string { return filepath.Join(s.dir, "path_mapping_rules.json") }

func (s *Session) logf(format string, args ...any) {
	s.output.Lock()
	defer s.output.Unlock()
	s.config.Log(s.secrets.hide(fmt.Sprintf(format, args...)))
}

// hide masks the secrets of a text that leaves the session.
func (s *Session) hide(text string) string {
	s.output.Lock()
	defer s.output.Unlock()
	return s.secrets.hide(text)
}

// symbols are the values of the job and the session.
func (s *Session) symbols() map[string]string {
	values := s.job.Symbols(s.config.Rules)
	values["Session.WorkingDirectory"] = s.dir
	values["Session.PathMappingRulesFile"] = s.rulesFile()
	values["Session.HasPathMappingRules"] = fmt.Sprint(len(s.config.Rules) > 0)
	return values
}

// Enter enters an environment: its variables are set, then its onEnter runs.
func (s *Session) Enter(ctx context.Context, e *openjd.Environment) error {
	if s.ended != nil {
		return fmt.Errorf("the session has ended: %w", s.ended)
	}
	s.logf("Entering environment: %s", e.Name)
	now := &entered{environment: e, sets: map[string]string{}, unsets: map[string]bool{}}
	s.entered = append(s.entered, now)
	s.ended = s.enter(ctx, now)
	return s.ended
}

func (s *Session) enter(ctx context.Context, now *entered) error {
	e := now.environment
	values := s.symbols()
	for _, v := range e.Variables {
		resolved, err := v.Value.Resolve(values)
		if err != nil {
			return err
		}
		if n := utf8.RuneCountInString(resolved); n > 2048 || strings.Contains(resolved, "\x00") {
			return fmt.Errorf("the variable %s has %d characters once it is resolved, and at most 2048 without NUL are allowed", v.Name, n)
		}
		now.sets[v.Name] = resolved
	}
	if e.OnEnter == nil {
		return nil
	}
	return s.run(ctx, actionRun{
		name: "onEnter of " + e.Name, action: e.OnEnter, files: e.Files, fileName: "Env.File", folder: &now.folder,
		values: values, entering: now,
	})
}

// Run runs one task of a step.
func (s *Session) Run(ctx context.Context, step *openjd.Step, task []openjd.TaskValue) error {
	if s.ended != nil {
		return fmt.Errorf("the session has ended: %w", s.ended)
	}
	label := "task of " + step.Name
	if len(task) > 0 {
		label += ": " + openjd.Label(task)
	}
	s.logf("Running %s", label)
	values := s.symbols()
	maps.Copy(values, openjd.TaskSymbols(task, s.config.Rules))
	folder := ""
	s.ended = s.run(ctx, actionRun{
		name: label, action: step.Script.OnRun, files: step.Script.Files, fileName: "Task.File", folder: &folder,
		values: values,
	})
	if folder != "" && !s.config.Preserve {
		if err := os.RemoveAll(folder); err != nil {
			s.logf("The files of a task remain: %v", err)
		}
	}
	return s.ended
}

// Exit leaves the environment that was entered last. Its onExit also runs if the session has ended, and is not
// canceled with it: ctx is for a second, more urgent end.
func (s *Session) Exit(ctx context.Context) error {
	last := s.entered[len(s.entered)-1]
	e := last.environment
	s.logf("Leaving environment: %s", e.Name)
	var err error
	if e.OnExit != nil {
		err = s.run(ctx, actionRun{
			name: "onExit of " + e.Name, action: e.OnExit, files: e.Files, fileName: "Env.File", folder: &last.folder,
			values: s.symbols(), exit: true,
		})
	}
	s.entered = s.entered[:len(s.entered)-1]
	if s.ended == nil {
		s.ended = err
	}
	return err
}

// Close leaves all environments in reverse, ends all processes of the session, and removes its folder.
func (s *Session) Close(ctx context.Context) error {
	var all []error
	for len(s.entered) > 0 {
		if err := s.Exit(ctx); err != nil {
			all = append(all, err)
		}
	}
	s.endProcesses()
	for _, l := range s.outputs { // a process that hides may hold a pipe
		_ = l.pipe.SetReadDeadline(time.Now().Add(time.Second)) // a pipe that was read to its end is closed
	}
	s.readers.Wait()
	if s.config.Preserve {
		s.logf("The folder of the session remains: %s", s.dir)
		return errors.Join(all...)
	}
	if err := os.RemoveAll(s.dir); err != nil {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// environ are the variables of an action: those of the configuration, the folder of the session, then those of each
// environment in their order. In one environment an unset variable stays unset.
func (s *Session) environ() []string {
	values := map[string]string{}
	for _, pair := range s.config.Environ {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	values["OPENJD_SESSION_WORKING_DIR"] = s.dir
	for _, e := range s.entered {
		maps.Copy(values, e.sets)
		for name := range e.unsets {
			delete(values, name)
		}
	}
	values[marker] = s.id
	out := make([]string, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, name+"="+values[name])
	}
	return out
}
