package crash

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Hosts of the rig. As root some have a small disk of their own, and all can be rebooted: each agent sees a
// boot id of its own, mounted over the kernel's in a mount namespace that only it and its shims are in.
const (
	crashDisk     = "6m"  // of every other host
	crashState    = "2m"  // of each supervisor
	crashDiskLeft = "1MB" // less than this, and the agent takes nothing new
	crashBootID   = "/proc/sys/kernel/random/boot_id"
	crashMassMost = 22 * time.Second // longest silence of all; the brake adds a lease
	crashMassRest = 30 * time.Second
)

// furnish makes a host's folder, disk and boot id, and says how its agent is started.
func (r *crashRig) furnish(name string, n int, args []string) *crashProcess {
	p := &crashProcess{name: name, log: r.path(name + ".log"), program: "qb", args: args,
		env: append(os.Environ(), "QB_CONF="+os.DevNull, "QB_WORKER_DISK_FLOOR="+crashDiskLeft)}
	r.must(os.Mkdir(r.path(name), 0o755))
	if !r.root {
		return p
	}
	if n%2 == 0 {
		r.must(syscall.Mount("qb-crash", r.path(name), "tmpfs", 0, "size="+crashDisk+",mode=0755"))
		r.disks = append(r.disks, name)
	}
	r.newBoot(name)
	p.program = "unshare"
	p.args = append([]string{"--mount", "sh", "-c", `mount --bind "$0" ` + crashBootID + ` && exec qb "$@"`, r.path(name + ".boot")}, args...)
	return p
}

// newBoot draws another boot id for a host.
func (r *crashRig) newBoot(name string) {
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x\n", rand.Uint32(), rand.Uint64()>>16)
	r.must(os.WriteFile(r.path(name+".boot"), []byte(id), 0o644))
}

// caged says whether the hosts hold items in control groups.
func (r *crashRig) caged() bool {
	log, _ := os.ReadFile(r.agents[0].log)
	return strings.Contains(string(log), "items are held in control groups")
}

// strays are what items of a host have left behind, or of all hosts.
func (r *crashRig) strays(host string) (pids []int) {
	for _, pid := range r.ours() {
		if words := commandLine(pid); slices.Contains(words, r.path("truth", host)) || host == "" && slices.Contains(words, r.path("child.sh")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func commandLine(pid int) []string {
	line, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return strings.Split(string(line), "\x00")
}

// endHost leaves no process of a host: its agent, its shims, with them their items, and what those left. What was
// frozen with its item stays so when its shim dies, and ends only if it is killed.
func (r *crashRig) endHost(agent *crashProcess) {
	agent.kill()
	r.killTwins(agent)
	for again := true; again; {
		again = false
		for _, pid := range append(r.machineShims(agent), r.strays(agent.name)...) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			again = true
		}
	}
	for _, p := range r.itemsOf(agent.name) {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	r.until("the items of "+agent.name+" have ended", func() bool { return len(r.itemsOf(agent.name)) == 0 })
}

// itemsOf are the processes of a host's items.
func (r *crashRig) itemsOf(host string) (found []crashProc) {
	for _, p := range r.itemProcesses() {
		if p.host == host {
			found = append(found, p)
		}
	}
	return found
}

// rebootHost is a power cut: nothing of the host lives, its disk is as it was, and its boot id is another.
func (r *crashRig) rebootHost() bool {
	agent := r.agents[r.random.IntN(len(r.agents))]
	if !r.root || !agent.up() {
		return false
	}
	r.endHost(agent)
	r.newBoot(agent.name)
	r.later(r.absence(), "rebooting "+agent.name, func() { r.must(agent.start()) })
	return true
}

// fillDisk leaves no byte for a while.
func (r *crashRig) fillDisk() bool {
	if len(r.disks) == 0 {
		return false
	}
	name := r.disks[r.random.IntN(len(r.disks))]
	fill := r.path(name, "fill")
	if _, err := os.Stat(fill); err == nil {
		return false
	}
	r.must(fillWith(fill))
	r.later(r.absence(), "full disk of "+name, func() { r.must(os.Remove(fill)) })
	return true
}

// smallState gives a supervisor a state folder with little room, as root; a machine of its own has its mounts from
// before.
func (r *crashRig) smallState(name string) {
	if !r.root || r.machines != nil {
		return
	}
	r.must(os.Mkdir(r.path(name), 0o700))
	r.must(syscall.Mount("qb-crash", r.path(name), "tmpfs", 0, "size="+crashState+",mode=0700"))
	r.small = append(r.small, name)
}

// fillState leaves no byte in a supervisor's state folder for a while, and has it start again in that.
func (r *crashRig) fillState() bool {
	i := r.random.IntN(len(r.supervisors))
	s := r.supervisors[i]
	fill := r.path(s.name, "fill")
	if _, err := os.Stat(fill); err == nil || !slices.Contains(r.small, s.name) || !s.up() {
		return false
	}
	r.must(fillWith(fill))
	s.kill()
	r.must(s.start())
	r.later(r.absence(), "full state folder of "+s.name, func() { r.must(os.Remove(fill)) })
	return true
}

// lastWord is the last line that a process of the rig's wrote.
func (p *crashProcess) lastWord() string {
	text, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// fillWith writes a file until the disk is full.
func fillWith(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for size := 64 << 10; size > 0; { // to the last byte
		if _, err = file.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return nil
}

// silenceAll cuts every line at once: with five hosts and more, the brake must hold what they run.
func (r *crashRig) silenceAll() bool {
	if slices.ContainsFunc(r.undo, func(u crashUndo) bool { return u.what == "rest after silence" }) {
		return false
	}
	most := crashMassMost / 4
	if r.random.IntN(3) == 0 {
		most = crashMassMost
	}
	r.setSilence(true)
	r.later(crashMassRest+crashMassMost, "rest after silence", func() {})
	r.later(3*time.Second+time.Duration(r.random.Int64N(int64(most))), "silence of all hosts", func() { r.setSilence(false) })
	return true
}

func (r *crashRig) setSilence(on bool) {
	for _, pair := range r.proxies {
		for _, p := range pair {
			p.setSilent(on)
		}
	}
}

// TestPowerCutEndsWhatIsFrozen: what an item left behind was frozen with it, and has nothing on its command line that
// tells whose it is; a power cut ends it like all else.
func TestPowerCutEndsWhatIsFrozen(t *testing.T) {
	r := &crashRig{t: t, dir: t.TempDir(), marks: map[string]bool{"http://frozen": true}}
	agent := &crashProcess{name: "a1", log: r.path("a1.log"), program: "sleep", args: []string{"600"}}
	r.must(agent.start())
	left := &crashProcess{name: "left", log: r.path("left.log"), program: "sleep", args: []string{"600"},
		env: append(os.Environ(), "QB_SUPERVISOR=http://frozen", "QB_HOST=a1", "QBJOBID=1", "QB_ITEM=0", "QB_ATTEMPT=1")}
	r.must(left.start())
	t.Cleanup(left.kill)
	r.until("the item's child is seen", func() bool { return len(r.itemsOf("a1")) == 1 })
	left.signal(syscall.SIGSTOP)
	r.endHost(agent)
	<-left.ended
}
