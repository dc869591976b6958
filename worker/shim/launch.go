package shim

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// pathTries is in how many folders of its PATH a program is looked for.
const pathTries = 256

// start executes the item's program as a shell would: it looks in the item's own PATH, relative to the item's
// directory. The forked child resolves the paths by execve, with the rights of the owner and in the item's directory.
// This process may be root, so it neither opens a path that an owner names nor checks whether the path exists.
func (s *shim) start(o *RunCommand, attr *syscall.ProcAttr) (pid int, err error) {
	pid, err = s.search(o, attr)
	if err != nil && o.DirOptional && attr.Dir != "/" && notThere(err) {
		attr.Dir = "/" // a home that is not there
		pid, err = s.search(o, attr)
	}
	return pid, err
}

func (s *shim) search(o *RunCommand, attr *syscall.ProcAttr) (pid int, err error) {
	began := time.Now()
	refused := error(nil)
	for _, path := range s.candidates(o, attr.Dir) {
		pid, err = execute(path, o.Argv, attr)
		switch {
		case err == nil:
			s.found = path
			return pid, nil
		case !notThere(err) || time.Since(began) > launchWait:
			return 0, err
		case errors.Is(err, syscall.EACCES):
			refused = err // a later folder may have it
		}
	}
	if refused != nil {
		err = refused
	}
	return 0, err
}

func notThere(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EACCES)
}

// candidates are the paths at which the program may be, the one of the last item first if it is one of them: most
// items of an instance run the same program.
func (s *shim) candidates(o *RunCommand, dir string) []string {
	list := candidatesIn(o, dir)
	if slices.Index(list, s.found) > 0 {
		return append([]string{s.found}, list...)
	}
	return list
}

func candidatesIn(o *RunCommand, dir string) []string {
	absolute := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	name := o.Argv[0]
	if strings.Contains(name, "/") {
		return []string{absolute(name)}
	}
	var list []string
	for _, folder := range filepath.SplitList(Variable(o.Env, "PATH")) {
		if len(list) < pathTries {
			list = append(list, filepath.Join(absolute(folder), name))
		}
	}
	return append(list, "/nowhere/"+name)[:max(1, len(list))] // an empty PATH finds nothing
}

// Variable is the value of a variable in an environment: the last one, "" if there is none.
func Variable(environment []string, name string) (value string) {
	for _, entry := range environment {
		if text, ok := strings.CutPrefix(entry, name+"="); ok {
			value = text
		}
	}
	return value
}

// execute bears with a program that is just being written, and a host that is just out of processes.
func execute(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	const tries = 5
	for try := 1; ; try++ {
		pid, err := syscall.ForkExec(path, argv, attr)
		if try == tries || !(errors.Is(err, syscall.ETXTBSY) || errors.Is(err, syscall.EAGAIN)) {
			return pid, err
		}
		time.Sleep(time.Duration(try) * 5 * time.Millisecond)
	}
}
