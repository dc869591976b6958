package worker

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qb/worker/core"
	"qb/worker/proc"
	"qb/worker/shim"
)

// hostile is what an item's process tries against its shim, its agent and the worker's folder. It prints a line for
// whatever succeeds, and one when it has tried all.
func hostile(state string, pids []string) int {
	got := func(what string, err error) {
		if err == nil {
			fmt.Println("got", what)
		}
	}
	for _, text := range append(pids, strconv.Itoa(os.Getppid())) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			return 2
		}
		for _, signal := range []unix.Signal{0, unix.SIGSTOP, unix.SIGCONT, unix.SIGTERM, unix.SIGKILL} {
			got("signal "+signal.String()+" to "+text, unix.Kill(pid, signal))
		}
		got("ptrace of "+text, unix.PtraceAttach(pid))
		got("seizing "+text, unix.PtraceSeize(pid))
		for _, name := range []string{"mem", "environ", "maps", "auxv", "syscall", "stack", "root/etc/passwd", "cwd/.", "exe", "fd", "fdinfo", "map_files", "io"} {
			f, err := os.Open(filepath.Join("/proc", text, name))
			if err == nil {
				_, err = f.Read(make([]byte, 1)) // some are checked when they are read
				if name == "fd" || name == "fdinfo" || name == "map_files" || name == "cwd/." {
					_, err = f.Readdirnames(1)
				}
				f.Close()
			}
			got("reading "+name+" of "+text, err)
		}
		for _, name := range []string{"mem", "oom_score_adj", "clear_refs", "coredump_filter", "attr/current", "uid_map"} {
			f, err := os.OpenFile(filepath.Join("/proc", text, name), os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("0")
				f.Close()
			}
			got("writing "+name+" of "+text, err)
		}
		there := make([]byte, 8)
		_, err = unix.ProcessVMReadv(pid, []unix.Iovec{{Base: &there[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
		got("memory of "+text, err)
		got("limits of "+text, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: 1}, nil))
		got("priority of "+text, unix.Setpriority(unix.PRIO_PROCESS, pid, 19))
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			got("signal by pidfd to "+text, unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0))
			for n := range 20 {
				_, err := unix.PidfdGetfd(fd, n, 0)
				got(fmt.Sprint("descriptor ", n, " of ", text), err)
			}
		}
	}
	for n := 3; n < 64; n++ {
		if link, err := os.Readlink(fmt.Sprint("/proc/self/fd/", n)); err == nil && !strings.HasPrefix(link, "anon_inode:") && !strings.HasPrefix(link, "pipe:") && strings.Contains(link, state) {
			fmt.Println("got descriptor", n, link)
		}
	}
	hostileToFolder(state, got)
	for name, call := range map[string]func() error{
		"root's uid": func() error { return unix.Setuid(0) }, "root's gid": func() error { return unix.Setgid(0) }, "groups": func() error { return unix.Setgroups([]int{0}) },
		"a mount": func() error { return unix.Mount("x", "/mnt", "tmpfs", 0, "") }, "chroot": func() error { return unix.Chroot("/") },
		"namespaces": func() error { return unix.Unshare(unix.CLONE_NEWNS) }, "a device": func() error { return unix.Mknod("/tmp/qb-mem", unix.S_IFCHR|0o666, 1<<8|1) },
	} {
		got(name, call())
	}
	fmt.Println("tried all")
	return 7
}

// hostileToFolder tries to enter and write a worker's state, and to speak to what listens on the host.
func hostileToFolder(state string, got func(string, error)) {
	for _, name := range []string{".", "i", "id", "token", "intent", "record", "i/1.0/record", "../farm.key"} {
		_, err := os.ReadDir(filepath.Join(state, name))
		got("listing "+name, err)
		_, err = os.ReadFile(filepath.Join(state, name))
		got("reading "+name, err)
		got("writing "+name, os.WriteFile(filepath.Join(state, name), []byte("{}"), 0o644))
		got("replacing "+name, os.Symlink("/etc/passwd", filepath.Join(state, name)))
		got("moving "+name, os.Rename(filepath.Join(state, name), filepath.Join(os.TempDir(), "taken")))
	}
	table, _ := os.ReadFile("/proc/net/unix")
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if path := fields[len(fields)-1]; strings.Contains(path, state) || strings.HasPrefix(path, "@qb") {
			conn, err := net.Dial("unix", path)
			got("connecting to "+path, err)
			if err == nil {
				conn.Close()
			}
		}
	}
	temp := os.Getenv("TMPDIR") // it is in a folder of root's, with those of other items
	got("moving TMPDIR", os.Rename(temp, temp+".old"))
	got("removing TMPDIR", os.Remove(temp))
	_, err := os.ReadDir(filepath.Dir(temp))
	got("listing the folders of others", err)
}

// TestAttackHostileItem: an item of a root worker reaches neither its shim nor its agent, in none of the ways that the
// kernel has, and its end is reported as it was.
func TestAttackHostileItem(t *testing.T) {
	u, ok := realUser(t)
	if !ok {
		return
	}
	program := filepath.Join(openFolder(t), "hostile")
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(program, self, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	f := newScriptedFarm(t)
	config := ownersConfig(t, f)
	runAgent(t, config)
	loader := openFolder(t) // where the loader of every program that hears the item's variables leaves a file
	spec := f.job(1, "exec "+program+" hostile "+config.State+" "+strconv.Itoa(os.Getpid()))
	spec.Shell, spec.User, spec.Cwd = true, u.Username, "/"
	spec.Env = map[string]string{"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": filepath.Join(loader, "ld"), "LD_PRELOAD": "/nowhere/evil.so", "LD_LIBRARY_PATH": loader, "BASH_ENV": "/nowhere", "GODEBUG": "x=1"}
	f.with(func() { f.specs[1] = spec })
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	end := f.awaitEnd(attempt(1, 0))
	out := f.output(end.Attempt, shim.StreamOut)
	if strings.Contains(out, "got ") || !strings.HasSuffix(out, "tried all\n") || end.Outcome != "exit" || end.ExitCode == nil || *end.ExitCode != 7 {
		t.Errorf("%+v\n%s%s", end, out, f.output(end.Attempt, shim.StreamErr))
	}
	traces, _ := filepath.Glob(filepath.Join(loader, "ld.*"))
	for _, trace := range traces {
		var st unix.Stat_t
		if err := unix.Stat(trace, &st); err != nil || fmt.Sprint(st.Uid) != u.Uid {
			t.Errorf("a process of uid %d heard the item's variables; %v", st.Uid, err)
		}
	}
	if len(traces) == 0 {
		t.Error("the item's variables are not set")
	}
}

// TestAttackItemsFolder: what an item leaves in its TMPDIR, and swaps while it is frozen and forks, takes nothing of
// others with it, and all its processes are gone.
func TestAttackItemsFolder(t *testing.T) {
	u, ok := realUser(t)
	if !ok {
		return
	}
	f := newScriptedFarm(t)
	stop := runAgent(t, ownersConfig(t, f))
	precious := t.TempDir()
	file := filepath.Join(precious, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := f.job(1, fmt.Sprintf(`cd $TMPDIR; ln -s %s link; ln -s %s/file one; ln -s / root; mkfifo fifo; mkdir -p d/e/f; chmod 000 d/e; ln -s .. d/up
		( while :; do rm -rf swap; mkdir swap; touch swap/file; rm -rf swap; ln -s %s swap; done ) 2>/dev/null &
		( fork() { sleep 30 & ( sleep 0.05; fork ) & }; fork; trap '' TERM; while :; do sleep 30 & sleep 0.02; done ) & setsid sleep 600 & echo up; wait`, precious, precious, precious))
	spec.Shell, spec.User, spec.Cwd = true, u.Username, "/"
	f.with(func() { f.specs[1] = spec })
	f.want(core.Key{Job: 1, Instance: 0}, attempt(1, 0))
	f.awaitOutput(attempt(1, 0), "up")
	time.Sleep(300 * time.Millisecond) // some forks and swaps; more or fewer make no difference
	f.with(func() { delete(f.wanted, core.Key{Job: 1, Instance: 0}) })
	if end := f.awaitEnd(attempt(1, 0)); end.Outcome != core.OutcomeStopped {
		t.Errorf("%+v", end)
	}
	f.await("none of its processes is left", func() bool { return !slices.ContainsFunc(owners(t), func(uid string) bool { return uid == u.Uid }) })
	stop()
	if text, err := os.ReadFile(file); string(text) != "precious" {
		t.Errorf("a file of root's is %q, %v", text, err)
	}
	temps, _ := filepath.Glob(shim.TmpFolder + "/qb-*/*")
	for _, dir := range temps {
		if info, err := os.Lstat(dir); err == nil && ownerOf(info) == u.Uid {
			t.Errorf("%s is left", dir)
		}
	}
}

func ownerOf(info fs.FileInfo) string {
	return fmt.Sprint(info.Sys().(*syscall.Stat_t).Uid)
}

// owners are the users of all processes that have not ended.
func owners(t *testing.T) (uids []string) {
	t.Helper()
	names, err := proc.Names("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join("/proc", name)); err == nil && name[0] >= '0' && name[0] <= '9' {
			uids = append(uids, ownerOf(info))
		}
	}
	return uids
}
