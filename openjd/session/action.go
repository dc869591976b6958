package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"qb/openjd"
)

// An ActionError is an action that did not succeed.
type ActionError struct {
	Action string // such as onEnter of conda
	Cause  Cause
	Code   int    // the exit code, for Failed; -1 if a signal ended it
	Reason string // what the action said by openjd_fail, or what else is known
}

// Cause is why an action did not succeed.
type Cause string

// The causes.
const (
	NotStarted Cause = "could not be started"
	Failed     Cause = "failed"
	TimedOut   Cause = "took longer than its time limit"
	Canceled   Cause = "was canceled"
)

func (e *ActionError) Error() string {
	text := fmt.Sprintf("%s %s", e.Action, e.Cause)
	if e.Cause == Failed {
		text += fmt.Sprintf(" with exit code %d", e.Code)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// An actionRun is an action with what it needs to run.
type actionRun struct {
	name     string
	action   *openjd.Action
	files    []openjd.EmbeddedFile
	fileName string  // Task.File or Env.File
	folder   *string // of the files; "" until they are written
	values   map[string]string
	entering *entered // the environment whose variables its output may change; nil: none
	exit     bool     // onExit
}

// run runs an action to its end.
func (s *Session) run(ctx context.Context, a actionRun) error {
	refused := func(err error) error {
		s.logf("%s could not be started: %v", a.name, err)
		return &ActionError{Action: a.name, Cause: NotStarted, Reason: s.hide(err.Error())}
	}
	if ctx.Err() != nil {
		return &ActionError{Action: a.name, Cause: Canceled}
	}
	if err := s.writeFiles(a); err != nil {
		return refused(err)
	}
	cmd, err := s.command(a)
	if err != nil {
		return refused(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return refused(err)
	}
	cmd.Stdout = w
	cmd.Stderr = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		r.Close()
		return refused(err)
	}
	lines := s.readOutput(r, a)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	cause := s.watch(ctx, a, cmd.Process.Pid, lines, ended)
	lines.settle()
	reason := lines.close()
	code := cmd.ProcessState.ExitCode()
	s.logf("Process exited with code: %d", code)
	switch {
	case cause != "":
		return &ActionError{Action: a.name, Cause: cause, Code: code, Reason: reason}
	case code != 0 || lines.broken():
		return &ActionError{Action: a.name, Cause: Failed, Code: code, Reason: reason}
	}
	return nil
}

// watch waits for the end of an action, and ends it if it is canceled, takes too long, or breaks its output.
func (s *Session) watch(ctx context.Context, a actionRun, pid int, lines *lines, ended chan error) Cause {
	var overdue <-chan time.Time
	if limit := a.action.Seconds(a.exit); limit > 0 {
		timer := time.NewTimer(time.Duration(limit) * time.Second)
		defer timer.Stop()
		overdue = timer.C
	}
	cause := Failed
	select {
	case <-ended:
		return ""
	case <-ctx.Done():
		cause = Canceled
		s.logf("%s is canceled", a.name)
	case <-overdue:
		cause = TimedOut
		s.logf("%s took longer than %d s and is canceled", a.name, a.action.Seconds(a.exit))
	case <-lines.bad:
		s.logf("%s is canceled, as its output is not well formed", a.name)
	}
	s.cancel(ctx, a, pid, ended)
	return cause
}

// cancel ends an action as its cancelation says, with all processes that it started.
func (s *Session) cancel(ctx context.Context, a actionRun, pid int, ended chan error) {
	tree := processTree(pid)
	notify := time.Duration(a.action.Notify()) * time.Second
	if s.config.Notice > 0 && ctx.Err() != nil {
		notify = min(notify, s.config.Notice)
	}
	if notify > 0 {
		end := time.Now().Add(notify)
		info, err := json.Marshal(map[string]string{"NotifyEnd": end.UTC().Format("2006-01-02T15:04:05Z")})
		if err == nil {
			err = os.WriteFile(filepath.Join(s.dir, "cancel_info.json"), append(info, '\n'), 0o600)
		}
		if err != nil {
			s.logf("cancel_info.json is not written: %v", err)
		}
		if err := syscall.Kill(-pid, syscall.SIGTERM); err != nil && err != syscall.ESRCH {
			s.logf("the processes of %s are not notified: %v", a.name, err)
		}
		timer := time.NewTimer(time.Until(end))
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C:
			killTree(pid)
			<-ended
		}
	} else {
		killTree(pid)
		<-ended
	}
	for _, left := range tree {
		if s.owns(left) {
			_ = syscall.Kill(left, syscall.SIGKILL) // it may have ended
		}
	}
}

// command resolves an action's command and arguments.
func (s *Session) command(a actionRun) (*exec.Cmd, error) {
	name, err := a.action.Command.Resolve(a.values)
	if err != nil {
		return nil, err
	}
	var args []string
	for _, f := range a.action.Args {
		arg, err := f.Resolve(a.values)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	for _, word := range append(args, name) {
		if strings.Contains(word, "\x00") {
			return nil, errors.New("the command or an argument has a NUL character once it is resolved")
		}
	}
	environ := s.environ()
	path, err := findProgram(name, s.dir, environ)
	if err != nil {
		return nil, err
	}
	s.logf("Running command: %s", name)
	cmd := &exec.Cmd{Path: path, Args: append([]string{name}, args...), Dir: s.dir, Env: environ}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, nil
}

// findProgram looks for a program in the PATH of the action, which an environment may have changed.
func findProgram(name, dir string, environ []string) (string, error) {
	if name == "" {
		return "", errors.New("the command is empty once it is resolved")
	}
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	path := ""
	for _, pair := range environ {
		if value, found := strings.CutPrefix(pair, "PATH="); found {
			path = value
		}
	}
	for _, folder := range filepath.SplitList(path) {
		full := filepath.Join(dir, folder, name)
		if filepath.IsAbs(folder) {
			full = filepath.Join(folder, name)
		}
		if executable(full) == nil {
			return full, nil
		}
	}
	return "", fmt.Errorf("there is no program %s in the PATH of the action, %s", name, path)
}

func executable(name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir() || info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not a program: it is a folder, or its mode %v lets no one execute it", name, info.Mode())
	}
	return nil
}

// writeFiles writes the embedded files of an action again each time that it runs.
func (s *Session) writeFiles(a actionRun) error {
	if len(a.files) == 0 {
		return nil
	}
	if *a.folder == "" {
		s.folders++
		*a.folder = filepath.Join(s.dir, fmt.Sprintf("embedded_files-%d", s.folders))
		if err := os.Mkdir(*a.folder, 0o700); err != nil {
			return err
		}
	}
	for _, f := range a.files {
		name := f.Filename
		if name == "" {
			name = "file-" + f.Name
		}
		a.values[a.fileName+"."+f.Name] = filepath.Join(*a.folder, name)
	}
	for _, f := range a.files {
		data, err := f.Data.Resolve(a.values)
		if err != nil {
			return err
		}
		switch f.EndOfLine {
		case openjd.EndLF:
			data = strings.ReplaceAll(data, "\r\n", "\n")
		case openjd.EndCRLF:
			data = strings.ReplaceAll(strings.ReplaceAll(data, "\r\n", "\n"), "\n", "\r\n")
		}
		mode := os.FileMode(0o600)
		if f.Runnable {
			mode = 0o700
		}
		name := a.values[a.fileName+"."+f.Name]
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err // an action may have left a link there
		}
		if err := os.WriteFile(name, []byte(data), mode); err != nil {
			return err
		}
	}
	return nil
}
