package netns

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestFarmOfMachines follows docs/operations.md on six machines, from empty state folders to a leader's machine that is
// cut off for good.
func TestFarmOfMachines(t *testing.T) {
	f := newFarm(t)
	f.startDatabase()
	f.startLeader()
	f.startStandby()
	f.joinWorkers()
	f.renderPictures()
	f.cutWorkerOff()
	f.losePackets()
	f.nameBothSupervisors()
	f.cutLeaderOff()
}

// startLeader starts the first supervisor, from an empty state folder and a file of four lines, and looks for doors that
// are open.
func (f *farm) startLeader() {
	must(f.t, os.WriteFile(f.s1.Folder("etc/qb.conf"), []byte(supervisorConf), 0o600))
	f.leader = f.start(f.s1, "supervisor", "qb", "supervisor")
	f.until("s1 leads", func() bool { return f.leads(f.s1) })
	f.checkDoors(f.s1, 50001)
	if open := f.scan(f.s1); !slices.Equal(open, []int{50001}) {
		f.t.Errorf("a scan of s1 finds the ports %v open, want 50001 alone", open)
	}
}

// startStandby copies the leader's key and certificate authority, as docs/operations.md has it.
func (f *farm) startStandby() {
	f.on(f.s2, "mkdir", "-p", "-m", "700", "/var/lib/qb")
	for _, name := range []string{"farm.key", "tls"} {
		if out, err := exec.Command("cp", "-a", f.s1.Folder("var/lib/qb/"+name), f.s2.Folder("var/lib/qb/")).CombinedOutput(); err != nil {
			f.t.Fatalf("copying %s: %v: %s", name, err, out)
		}
	}
	must(f.t, os.WriteFile(f.s2.Folder("etc/qb.conf"), []byte(supervisorConf), 0o600))
	s := f.start(f.s2, "supervisor", "qb", "supervisor")
	f.untilIn(s, "stand")
	f.checkDoors(f.s2, 50001)
}

// joinWorkers pastes the line on two machines with empty state folders, and measures the time from the leader's first
// answer to the second machine's first item.
func (f *farm) joinWorkers() {
	began := time.Now()
	line := f.on(f.s1, "qbadmin", "worker", "token", "-ttl", "1h")
	f.token = f.on(f.s1, "qbadmin", "token", "create", "-user", "ann", "-role", "user")
	job := f.ann("qbsub", "-name", "first", "-range", "1-1000", "-cpus", "8", "/srv/item.sh", "2")
	f.workers[f.w1] = f.start(f.w1, "worker", append([]string{"env"}, strings.Fields(line)...)...)
	longer := strings.Replace(line, "https://s1:50001", bothSupervisors, 1) // nothing to add later
	f.workers[f.w2] = f.start(f.w2, "worker", append([]string{"env"}, strings.Fields(longer)...)...)
	for _, m := range []*Machine{f.w1, f.w2} {
		f.until("an item runs on "+m.Name, func() bool { return f.begun(job, m, 0) > 0 })
	}
	f.t.Logf("from the leader's first answer to an item on each of two new machines: %.1f s", time.Since(began).Seconds())
	for _, m := range []*Machine{f.w1, f.w2, f.ws} {
		f.checkDoors(m)
		if open := f.scan(m); len(open) > 0 {
			f.t.Errorf("a scan of %s finds the ports %v open, want none", m.Name, open)
		}
	}
	f.ann("qbkill", job)
}

// renderPictures renders an animation on both workers.
func (f *farm) renderPictures() {
	scene, err := os.ReadFile("../../examples/beauty.pov")
	must(f.t, err)
	must(f.t, os.WriteFile(f.shared("beauty.pov"), scene, 0o644))
	job := f.ann("qbsub", "-name", "beauty", "-range", "1-12", "-cpus", "4", "/srv/item.sh", "0", "beauty.pov")
	took := f.until("the pictures are there", func() bool { return f.ended(job) == 12 })
	f.complete(job)
	f.checkTruth(job, 12)
	f.checkPictures(job, 12)
	for _, m := range []*Machine{f.w1, f.w2} {
		if f.begun(job, m, 0) == 0 {
			f.t.Errorf("%s rendered none of the pictures", m.Name)
		}
	}
	if out := f.ann("qbout", job+":1"); !strings.Contains(out, "item 0 on w") {
		f.t.Errorf("the output of the first item is %q", out)
	}
	f.t.Logf("12 pictures on two machines: %.1f s", took.Seconds())
}

// checkDoors wants that nothing listens on the machine but loopback and these ports.
func (f *farm) checkDoors(m *Machine, ports ...int) {
	f.t.Helper()
	for _, family := range []string{"tcp", "tcp6", "udp", "udp6"} {
		for line := range strings.Lines(f.on(m, "cat", "/proc/net/"+family)) {
			words := strings.Fields(line)
			if len(words) < 4 || !strings.Contains(words[1], ":") || strings.HasPrefix(family, "tcp") && words[3] != "0A" {
				continue // the heading, or a connection
			}
			host, hex, _ := strings.Cut(words[1], ":")
			port, err := strconv.ParseInt(hex, 16, 32)
			must(f.t, err)
			loopback := strings.HasSuffix(host, "7F") && len(host) == 8 || host == "00000000000000000000000001000000"
			if !loopback && !slices.Contains(ports, int(port)) {
				f.t.Errorf("%s: %s port %d of %s is open", m.Name, family, port, host)
			}
		}
	}
}

// scan tries every TCP port of a machine from outside.
func (f *farm) scan(m *Machine) (open []int) {
	f.t.Helper()
	ports := make(chan int)
	var mu sync.Mutex
	var wait sync.WaitGroup
	for range 32 {
		wait.Go(func() {
			for port := range ports {
				c, err := net.DialTimeout("tcp", net.JoinHostPort(m.Address, strconv.Itoa(port)), 5*time.Second)
				if err != nil {
					continue
				}
				_ = c.Close()
				mu.Lock()
				open = append(open, port)
				mu.Unlock()
			}
		})
	}
	for port := 1; port < 1<<16; port++ {
		ports <- port
	}
	close(ports)
	wait.Wait()
	slices.Sort(open)
	return open
}
