package shim

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// pathTries is in how many folders of its PATH a program is looked for.
const pathTries = 256

// forker forks on a thread of its own that lives as long as the shim: the death signal of a process is that of the
// thread that forked it, and a program on a file system that does not answer may hold up a fork, but not the lease.
type forker struct {
	work    chan func()
	waiter  *waiter
	ownPeak int64    // how large this process has been, as last read
	found   string   // the program of the last item
	apart   bool     // the thread has mounts and System V memory of its own
	mounted []string // there, for the item
}

func (f *forker) run() {
	runtime.LockOSThread()
	beUsual()
	for do := range f.work {
		do()
	}
}

// start executes the item's program as a shell would: it looks in the item's own PATH, relative to the item's
// directory. The forked child resolves the paths by execve, with the rights of the owner and in the item's directory.
// This process may be root, so it neither opens a path that an owner names nor checks whether the path exists.
func (f *forker) start(o *RunCommand, attr *syscall.ProcAttr) (pid int, err error) {
	pid, err = f.search(o, attr)
	if err != nil && o.DirOptional && attr.Dir != "/" && notThere(err) {
		attr.Dir = "/" // a home that is not there
		pid, err = f.search(o, attr)
	}
	return pid, err
}

func (f *forker) search(o *RunCommand, attr *syscall.ProcAttr) (pid int, err error) {
	began := time.Now()
	refused := error(nil)
	for _, path := range f.candidates(o, attr.Dir) {
		pid, err = execute(path, o.Argv, attr)
		switch {
		case err == nil:
			f.found = path
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
func (f *forker) candidates(o *RunCommand, dir string) []string {
	list := candidatesIn(o, dir)
	if slices.Index(list, f.found) > 0 {
		return append([]string{f.found}, list...)
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
