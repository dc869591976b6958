package shim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"qb/internal/limitwriter"
	"qb/internal/units"
)

// Bounds of a look for the cause of a failed start.
const (
	lookFor  = 5 * time.Second // then it is killed
	lookText = 64 << 10        // bytes of what it may say
	lookAsk  = 16 << 20        // bytes that it may be asked
)

// lookWord as the only argument makes a shim's program look for the cause of a failed start.
const lookWord = "look"

// look is what the child is asked: which of the paths that the owner named is at fault.
type look struct {
	Order RunCommand    `json:"order"`
	Errno syscall.Errno `json:"errno"`
}

// found is what the child answers. Folder is the code of what is wrong with the working folder, if that is at fault.
type found struct {
	Reason string `json:"reason"`
	Folder string `json:"folder,omitempty"`
}

// Codes of ends for want of the working folder.
const (
	folderMissing = "folder_missing"
	folderDenied  = "folder_denied"
)

// launchReason says why the item's program could not be started. Only a child that has the owner's identity looks at
// what the owner named, for two seconds at most; without its answer the system's own error is reported.
func (s *shim) launchReason(o *RunCommand, err error) found {
	text := fmt.Sprintf("cannot start %s in %s: %v", brief(o.Argv[0]), brief(o.Dir), err)
	errno, ok := errors.AsType[syscall.Errno](err)
	switch {
	case !ok:
		return found{Reason: text}
	case errno == syscall.E2BIG:
		return found{Reason: fmt.Sprintf("%s; command and environment take %s, and a process can have %s here", text,
			units.Size(int64(sizeOf(o))), units.Size(mostOfProcess()))}
	}
	// texts and numbers: it cannot fail
	asked, _ := json.Marshal(look{RunCommand{Argv: o.Argv[:1], Env: []string{"PATH=" + Variable(o.Env, "PATH")},
		Dir: o.Dir, DirOptional: o.DirOptional}, errno})
	answer := &limitwriter.Buffer{Most: lookText}
	child := &exec.Cmd{
		Path: "/proc/self/exe", Args: append(append([]string{}, os.Args[:len(os.Args)-1]...), lookWord), Env: Environment(),
		Dir:   "/",
		Stdin: bytes.NewReader(asked), Stdout: answer, WaitDelay: lookFor,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	if l := o.Login; l != nil {
		child.SysProcAttr.Credential = &syscall.Credential{Uid: l.UID, Gid: l.GID, Groups: l.Groups}
	}
	if startErr := child.Start(); startErr != nil {
		return found{Reason: text}
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	select {
	case waitErr := <-ended:
		if said := (found{}); waitErr == nil && json.Unmarshal(answer.Bytes(), &said) == nil && said.Reason != "" {
			return said
		}
		return found{Reason: text}
	case <-time.After(lookFor):
	}
	child.Process.Kill()
	select {
	case <-ended:
	case <-time.After(lookFor): // the kernel holds it; reaping this shim's next item would wait for it
		s.post(func() { s.closing = true })
	}
	return found{Reason: text + "; the directory or the program did not answer within " + lookFor.String()}
}

// sizeOf is what the kernel counts of a process's words: their bytes, and a pointer to each.
func sizeOf(o *RunCommand) (size int) {
	const pointer = 8
	for _, words := range [][]string{o.Argv, o.Env} {
		for _, word := range words {
			size += len(word) + 1 + pointer
		}
	}
	return size
}

// mostOfProcess is how much the kernel lets a process have of them: a quarter of its stack, but no less than 128 KiB
// and no more than three quarters of 8 MiB.
func mostOfProcess() int64 {
	var stack syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_STACK, &stack) != nil {
		return 2 << 20 // as with the usual 8 MiB
	}
	return int64(max(128<<10, min(stack.Cur/4, 6<<20)))
}

// brief is the begin of a word that a job named.
func brief(word string) string {
	const most = 300
	if len(word) <= most {
		return word
	}
	return strings.ToValidUTF8(word[:most], "") + "…"
}

// lookMain is the child.
func lookMain(in io.Reader, out io.Writer) int {
	var asked look
	if err := json.NewDecoder(io.LimitReader(in, lookAsk)).Decode(&asked); err != nil || len(asked.Order.Argv) == 0 {
		return 2
	}
	if json.NewEncoder(out).Encode(asked.find()) != nil {
		return 2
	}
	return 0
}

func (l look) find() found {
	o := &l.Order
	if err := os.Chdir(o.Dir); err != nil {
		if !o.DirOptional || os.Chdir("/") != nil {
			return unusable(o.Dir, err)
		}
		o.Dir = "/"
	}
	return found{Reason: l.program()}
}

func unusable(dir string, err error) found {
	if code := folderFault(err); code != "" {
		return found{fmt.Sprintf("chdir %s: %v", dir, bareError(err)), code}
	}
	return found{Reason: fmt.Sprintf("the item's working directory %s cannot be used: %v", dir, bareError(err))}
}

// folderFault is the code of an error of chdir that another host may not have: its own file systems and mounts make it.
func folderFault(err error) string {
	switch errno, _ := errors.AsType[syscall.Errno](err); errno {
	case syscall.EACCES, syscall.EPERM:
		return folderDenied
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ESTALE, syscall.EIO, syscall.ENOTCONN, syscall.ETIMEDOUT,
		syscall.EHOSTDOWN,
		syscall.EHOSTUNREACH, syscall.ECONNREFUSED, syscall.ENODEV, syscall.ENXIO, syscall.EREMOTEIO:
		return folderMissing
	}
	return ""
}

// program says why the item's program cannot be started in its directory, which can be used.
func (l look) program() string {
	o := &l.Order
	name := o.Argv[0]
	paths := candidatesIn(o, o.Dir)
	path := paths[0]
	if !strings.Contains(name, "/") {
		at := slices.IndexFunc(paths, func(path string) bool {
			info, err := os.Stat(path)
			return err == nil && !info.IsDir()
		})
		if at < 0 {
			return fmt.Sprintf("cannot start %q: no such program in the item's PATH, which is %s", name, Variable(o.Env, "PATH"))
		}
		path = paths[at]
	}
	return fmt.Sprintf("cannot start %s in %s: %v", path, o.Dir, l.Errno) + l.cause(path)
}

// cause is the likely one.
func (l look) cause(path string) string {
	info, err := os.Stat(path)
	switch {
	case l.Errno == syscall.ENOENT && err == nil && info.Mode().IsRegular():
		if interpreter := shebang(path); interpreter != "" {
			return "; the script is there, but its interpreter " + interpreter + " is not"
		}
		return "; the file is there, but the loader it names is not"
	case l.Errno == syscall.EACCES && err == nil && info.IsDir():
		return "; the path is a directory"
	case l.Errno == syscall.EACCES && err == nil && !info.Mode().IsRegular():
		return "; the path is not a regular file"
	case l.Errno == syscall.EACCES && err == nil && info.Mode()&0o111 == 0:
		return "; the file is not executable (chmod +x)"
	case l.Errno == syscall.EACCES:
		return "; the file, the directory or one on the way to them is closed to this user"
	case l.Errno == syscall.ENOEXEC:
		return "; the file is neither a program for this machine nor a script that starts with #!"
	}
	return ""
}

// shebang is the interpreter that a script names. What became another kind of file meanwhile is not read.
func shebang(path string) string {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	line, _ := bufio.NewReaderSize(file, 256).ReadSlice('\n')
	rest, ok := strings.CutPrefix(string(line), "#!")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// bareError leaves out the path that the sentence around it names anyway.
func bareError(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
