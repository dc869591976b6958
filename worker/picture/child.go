package picture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
)

// Word as the only argument makes a shim's program make a picture.
const Word = "picture"

// Ask is what the child is asked.
type Ask struct {
	Dir       string   `json:"dir"`
	Files     []string `json:"files"` // the first that can be shown
	Converter []string `json:"converter,omitempty"`
}

// Answer is a picture, or why there is none.
type Answer struct {
	Data []byte `json:"data,omitempty"`
	Code string `json:"code,omitempty"`
}

// Limits of the child and of what it starts.
const (
	timeLimit   = time.Minute
	cpuLimit    = 20      // seconds
	nice        = 10      // lower, it would get next to nothing beside items that render
	memoryLimit = 1 << 30 // bytes of address space, beside what the program has at its start
	fileLimit   = 64 << 20
	openLimit   = 64
	mostAsked   = 1 << 20
	mostMade    = 16 << 20 // bytes that the converter may print
)

// Main is the child: it has the identity of the item's owner when it begins, and confines itself before it opens
// anything.
func Main(in io.Reader, out io.Writer) int {
	time.AfterFunc(timeLimit+time.Second, func() { os.Exit(3) }) // its agent may be gone
	var ask Ask
	err := json.NewDecoder(io.LimitReader(in, mostAsked)).Decode(&ask)
	if err == nil {
		err = confine()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		return 2
	}
	answer := ask.make()
	if json.NewEncoder(out).Encode(answer) != nil {
		return 2
	}
	return 0
}

// confine takes from this process what it does not need. It stays on one thread: what a thread may no longer gain, its
// children may not.
func confine() error {
	runtime.LockOSThread()
	debug.SetMemoryLimit(memoryLimit * 3 / 4)
	unix.Umask(0o077)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0) // the first to go, where that can be said
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice)                // refused if it is lower already
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("setting no_new_privs: %w", err)
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return fmt.Errorf("reading the memory of this process: %w", err)
	}
	pages, _, _ := strings.Cut(string(text), " ")
	now, err := strconv.ParseUint(pages, 10, 40)
	if err != nil {
		return fmt.Errorf("reading the memory of this process: %w", err)
	}
	for what, most := range map[int]uint64{
		unix.RLIMIT_AS: now*uint64(os.Getpagesize()) + memoryLimit, unix.RLIMIT_CPU: cpuLimit,
		unix.RLIMIT_FSIZE: fileLimit, unix.RLIMIT_NOFILE: openLimit, unix.RLIMIT_CORE: 0,
	} {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(what, &limit); err != nil {
			return fmt.Errorf("limiting this process: %w", err)
		}
		limit.Max = min(limit.Max, most)
		limit.Cur = limit.Max
		if err := syscall.Setrlimit(what, &limit); err != nil {
			return fmt.Errorf("limiting this process: %w", err)
		}
	}
	return nil
}

// make answers with the picture of the first file of which there can be one, or with what is wrong with the first.
func (a Ask) make() (answer Answer) {
	if err := os.Chdir(a.Dir); err != nil {
		return Answer{Code: codeOf(err)}
	}
	for _, path := range a.Files {
		data, err := a.of(path)
		if err == nil {
			return Answer{Data: data}
		}
		if answer.Code == "" {
			answer.Code = codeOf(err)
		}
	}
	return answer
}

func codeOf(err error) string {
	var why refusal
	switch {
	case errors.As(err, &why):
		return string(why)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return api.PictureMissing
	case errors.Is(err, fs.ErrPermission):
		return api.PictureDenied
	}
	return api.PictureFailed
}

func (a Ask) of(path string) ([]byte, error) {
	file, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := shrink(file, size)
	if err == nil || len(a.Converter) == 0 || codeOf(err) == api.PictureTooLarge {
		return data, err
	}
	made, err := convert(a.Converter, file)
	if err != nil {
		return nil, refusal(api.PictureConverter)
	}
	if data, err = shrink(bytes.NewReader(made), int64(len(made))); err != nil {
		return nil, refusal(api.PictureConverter)
	}
	return data, nil
}

// open looks before it opens: opening a device may do something, and a pipe may wait.
func open(path string) (*os.File, int64, error) {
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, err
	}
	defer unix.Close(at)
	var seen unix.Stat_t
	if err := unix.Fstat(at, &seen); err != nil {
		return nil, 0, err
	}
	if seen.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, 0, refusal(api.PictureNoFile)
	}
	if seen.Size > mostBytes {
		return nil, 0, refusal(api.PictureTooLarge)
	}
	file, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(at), os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	return file, seen.Size, err
}

// convert has the site's command make a picture of a file, which it gets as its standard input: it never sees the name
// that a user chose.
func convert(command []string, file *os.File) ([]byte, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.SysProcAttr = file, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	made, err := io.ReadAll(io.LimitReader(out, mostMade+1))
	if len(made) > mostMade {
		err = refusal(api.PictureConverter)
	}
	if err != nil {
		_ = cmd.Process.Kill() // it may have ended
	}
	return made, errors.Join(err, cmd.Wait())
}
