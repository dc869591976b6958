package netns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"qb/internal/pause"
)

const (
	bridge       = "qb-switch"
	machineFlags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS |
		syscall.CLONE_NEWIPC
	bootID = "/proc/sys/kernel/random/boot_id"
)

// Folders of the machines.
const (
	Programs = "/mnt" // the programs under test, the same on all machines
	Shared   = "/srv" // shared storage, the same on all machines
)

// ownFolders are a machine's own. /tmp comes last: the folder of the run is in it.
var ownFolders = []string{"etc", "var/lib", "run", "root", "home", "tmp"}

// Network is a switch with machines.
type Network struct {
	folder   string
	names    []string
	programs string
}

// Machine is one of them.
type Machine struct {
	Name, Address string

	folder string
	first  *exec.Cmd
}

// New makes a network whose machines will have these names. Programs is a folder that each has as the folder Programs.
func New(folder, programs string, names ...string) (*Network, error) {
	if !Inside() {
		return nil, errors.New("netns: a network is made in the outer namespaces only")
	}
	return &Network{folder, names, programs}, os.MkdirAll(filepath.Join(folder, "shared"), 0o755)
}

// SharedFolder is the folder that machines have as Shared.
func (n *Network) SharedFolder() string { return filepath.Join(n.folder, "shared") }

// address is the address of the i-th machine, from 1 on; 0 is the switch itself.
func address(i int) string { return "10.77.0." + strconv.Itoa(10+i) }

// SwitchAddress is the address of the outer namespaces on the switch.
func SwitchAddress() string { return address(0) }

// Start switches the i-th machine on, which has what its folder holds from an earlier start.
func (n *Network) Start(i int) (*Machine, error) {
	m := &Machine{Name: n.names[i], Address: address(i + 1), folder: filepath.Join(n.folder, n.names[i])}
	if err := n.furnish(m); err != nil {
		return nil, err
	}
	ready, tell, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	m.first = exec.Command("/proc/self/exe")
	m.first.Env = append(os.Environ(), machineKey+"="+m.folder)
	m.first.Stderr = os.Stderr
	m.first.ExtraFiles = []*os.File{tell}
	m.first.SysProcAttr = &syscall.SysProcAttr{Cloneflags: machineFlags, Setpgid: true}
	err = m.first.Start()
	_ = tell.Close()
	if err != nil {
		return nil, fmt.Errorf("netns: starting %s: %w", m.Name, err)
	}
	if text, err := io.ReadAll(ready); err != nil || string(text) != "ready" {
		return nil, fmt.Errorf("netns: %s did not start: %w", m.Name, errors.Join(err, m.first.Wait()))
	}
	return m, m.plugIn()
}

// furnish makes the machine's folders.
func (n *Network) furnish(m *Machine) error {
	boot := fmt.Sprintf("%08x-0000-4000-8000-%012x\n", rand.Uint32(), rand.Uint64()>>16)
	if _, err := os.Stat(filepath.Join(m.folder, "etc")); err == nil {
		return os.WriteFile(filepath.Join(m.folder, "boot_id"), []byte(boot), 0o644)
	}
	for _, name := range ownFolders {
		if err := os.MkdirAll(filepath.Join(m.folder, name), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(m.folder, "tmp"), 0o1777); err != nil {
		return err
	}
	if out, err := exec.Command("cp", "-a", "/etc/.", filepath.Join(m.folder, "etc")).CombinedOutput(); err != nil {
		return fmt.Errorf("netns: copying /etc: %w: %s", err, out)
	}
	hosts := "127.0.0.1 localhost\n::1 localhost\n"
	for i, name := range n.names {
		hosts += address(i+1) + " " + name + "\n"
	}
	for name, text := range map[string]string{
		"boot_id": boot, "etc/hosts": hosts, "etc/hostname": m.Name + "\n",
		"etc/machine-id": fmt.Sprintf("%016x%016x\n", rand.Uint64(), rand.Uint64()),
	} {
		path := filepath.Join(m.folder, name)
		if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	for _, link := range []string{"programs", "shared"} {
		to := map[string]string{"programs": n.programs, "shared": n.SharedFolder()}[link]
		if err := os.Symlink(to, filepath.Join(m.folder, link)); err != nil {
			return err
		}
	}
	return nil
}

// beMachine is the first process of a machine: it mounts the machine's folders, reports on descriptor 3 that it is
// ready, and collects orphans from then on.
func beMachine(folder string) error {
	if err := ownMounts(); err != nil {
		return err
	}
	mounts := [][2]string{{"boot_id", bootID}, {"programs", Programs}, {"shared", Shared}}
	for _, name := range ownFolders {
		mounts = append(mounts, [2]string{name, "/" + name})
	}
	for _, m := range mounts {
		if err := syscall.Mount(filepath.Join(folder, m[0]), m[1], "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("netns: mounting %s of %s: %w", m[1], folder, err)
		}
	}
	if err := syscall.Sethostname([]byte(filepath.Base(folder))); err != nil {
		return err
	}
	if err := ip("link set lo up"); err != nil {
		return err
	}
	ready := os.NewFile(3, "ready")
	_, err := ready.WriteString("ready")
	if err = errors.Join(err, ready.Close()); err != nil {
		return err
	}
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err == syscall.ECHILD {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// plugIn joins the machine to the switch.
func (m *Machine) plugIn() error {
	pid := strconv.Itoa(m.first.Process.Pid)
	for _, line := range []string{
		"link add " + m.port() + " type veth peer name eth0 netns " + pid,
		"link set " + m.port() + " master " + bridge + " up",
	} {
		if err := ip(line); err != nil {
			return err
		}
	}
	for _, line := range []string{"addr add " + m.Address + "/24 dev eth0", "link set eth0 up"} {
		if out, err := m.Command(context.Background(), "ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("netns: %s: ip %s: %w: %s", m.Name, line, err, out)
		}
	}
	return nil
}

func (m *Machine) port() string { return "qb-" + m.Name }

// Command is a command that runs in the machine, with root's environment there. Its process is that of nsenter, whose
// only child is the program.
func (m *Machine) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	enter := []string{"-t", strconv.Itoa(m.first.Process.Pid), "-m", "-u", "-n", "-i", "-p", "--wd=/", "--", program}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
	cmd.Env = []string{"PATH=" + Programs + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
		"LANG=C.UTF-8"}
	return cmd
}

// InNetwork are the words of a command that has the machine's network, and all else from outside. Its process becomes
// the program's.
func (m *Machine) InNetwork(program string, args ...string) []string {
	return append([]string{"nsenter", "--net=/proc/" + strconv.Itoa(m.first.Process.Pid) + "/ns/net", "--", program},
		args...)
}

// Folder is where the machine's /NAME is outside of it.
func (m *Machine) Folder(name string) string { return filepath.Join(m.folder, name) }

// Cut takes the machine's cable out, or puts it in again. Nothing in the machine learns of it but by silence.
func (m *Machine) Cut(out bool) error {
	return ip("link set " + m.port() + map[bool]string{true: " nomaster", false: " master " + bridge}[out])
}

// LosePackets loses packets to and from the machine until the context ends: of each tenth to half of a second all. (The
// kernel's own means for that, netem and nftables, are missing on many machines.)
func (m *Machine) LosePackets(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := m.Cut(true); err != nil {
			return err
		}
		_ = pause.For(ctx, 100*time.Millisecond)
		if err := m.Cut(false); err != nil {
			return err
		}
		_ = pause.For(ctx, time.Duration(100+rand.IntN(400))*time.Millisecond)
	}
	return nil
}

// PowerOff ends every process of the machine at once.
func (m *Machine) PowerOff() error {
	err := m.first.Process.Kill()
	_ = m.first.Wait() // killed
	return err
}
