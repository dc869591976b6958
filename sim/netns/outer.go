package netns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// The stages of a run, each the child of the former: the tests' process as it was started; the first process of the
// outer namespaces, which collects orphans; and the tests' process that runs the tests.
const (
	stageKey   = "QB_NETNS_STAGE"
	firstStage = "first" // of the outer namespaces
	testsStage = "tests"
	machineKey = "QB_NETNS_MACHINE" // folder of the machine whose first process this is
	outerFlags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS
)

// Main is for TestMain. It runs the tests in namespaces of their own if that is wanted, and returns the exit code. In
// the first process of a machine it does not return while the machine lives.
func Main(wanted bool, run func() int) int {
	var err error
	code := 1
	switch {
	case os.Getenv(machineKey) != "":
		err = beMachine(os.Getenv(machineKey))
	case os.Getenv(stageKey) == firstStage:
		code, err = beFirst()
	case Inside():
		if err = beSwitch(); err == nil {
			return run()
		}
	case !wanted:
		return run()
	default:
		if err = Available(); err == nil {
			code, err = again()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return code
}

// Inside reports whether this process runs the tests in the outer namespaces.
func Inside() bool { return os.Getenv(stageKey) == testsStage }

// Available returns an error that names what is missing for machines.
func Available() error {
	if os.Geteuid() != 0 {
		return errors.New("netns: machines made of namespaces need root; run it as root, such as by sudo")
	}
	for program, of := range map[string]string{"ip": "iproute2", "nsenter": "util-linux"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("netns: the program %s is missing; on Debian: apt install %s", program, of)
		}
	}
	try := exec.Command("ip", "link", "set", "lo", "up")
	try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: outerFlags}
	if out, err := try.CombinedOutput(); err != nil {
		return fmt.Errorf("netns: namespaces cannot be made: %w: %s; in a container, permit CAP_SYS_ADMIN and CAP_NET_ADMIN, such as by --privileged", err, out)
	}
	return nil
}

// again runs this program in the outer namespaces. It dies with this process, and everything in them with it.
func again() (int, error) {
	runtime.LockOSThread() // whose end the kernel takes for the parent's
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), stageKey+"="+firstStage)
	cmd.Stdin = os.Stdin
	cmd.Stdout = os.Stdout
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: outerFlags, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(1, exit.ExitCode()), nil
	}
	return 0, err
}

// beFirst starts the process of the tests and collects orphans until it ends.
func beFirst() (int, error) {
	if err := ownMounts(); err != nil {
		return 1, err
	}
	env := append(os.Environ(), stageKey+"="+testsStage) // the last one counts
	pid, err := syscall.ForkExec("/proc/self/exe", os.Args,
		&syscall.ProcAttr{Env: lastOfEach(env), Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 1, fmt.Errorf("netns: starting the tests: %w", err)
	}
	return reap(pid)
}

// lastOfEach removes variables that a later one of the same name replaces.
func lastOfEach(env []string) []string { return (&exec.Cmd{Env: env}).Environ() }

// reap collects children until the one of pid has ended, and returns its exit code.
func reap(pid int) (int, error) {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 1, fmt.Errorf("netns: waiting for processes: %w", err)
		case ended == pid && status.Signaled():
			return 1, fmt.Errorf("netns: the tests were ended by %s", status.Signal())
		case ended == pid:
			return status.ExitStatus(), nil
		}
	}
}

// ownMounts keeps mounts inside, and shows the processes of these namespaces alone.
func ownMounts() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("netns: making mounts private: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("netns: mounting /proc: %w", err)
	}
	return nil
}

// beSwitch makes the bridge that joins the machines. The tests have an address on it.
func beSwitch() error {
	for _, line := range []string{"link set lo up", "link add " + bridge + " type bridge",
		"addr add " + address(0) + "/24 dev " + bridge, "link set " + bridge + " up"} {
		if err := ip(line); err != nil {
			return err
		}
	}
	return nil
}

func ip(line string) error {
	if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
		return fmt.Errorf("netns: ip %s: %w: %s", line, err, out)
	}
	return nil
}
