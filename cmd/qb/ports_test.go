package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	psnet "github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"
)

// TestListens: of a fresh farm, as it comes and open to the network, the supervisor alone listens on one TCP port, of
// loopback on both addresses; nothing else of it does, neither Postgres nor workers, shims and items, and no one on
// UDP. Unix sockets lie in the state folder.
func TestListens(t *testing.T) {
	t.Parallel()
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if found := strings.Join(listening(t, os.Getpid(), ""), " "); !strings.Contains(found, "tcp "+own.Addr().String()) || !strings.Contains(found, "udp "+udp.LocalAddr().String()) {
		t.Errorf("the scan misses %s and %s in %s", own.Addr(), udp.LocalAddr(), found)
	}
	own.Close()
	udp.Close()
	for name, c := range map[string]struct {
		listen    string
		addresses []string
	}{"as it comes": {"127.0.0.1:0", []string{"127.0.0.1", "::1"}}, "open to the network": {"0.0.0.0:0", []string{"::"}}} {
		t.Run(name, func(t *testing.T) {
			f := startFarm(t, "-listen", c.listen, "-hosts", "2", "-slots", "1")
			f.run(0, "qbsub", "-range", "1-2", "sleep", "300")
			f.until("both items run", func() bool { return len(f.processes("shim")) == 2 })
			var want []string
			for _, address := range c.addresses {
				want = append(want, "tcp "+address+f.url[strings.LastIndex(f.url, ":"):])
			}
			if got := listening(t, f.cmd.Process.Pid, filepath.Dir(f.state)); !slices.Equal(got, want) {
				t.Errorf("the farm listens on %q, want %q", got, want)
			}
			f.run(0, "qbkill", "1")
			f.until("the shims end", func() bool { return len(f.processes("shim")) == 0 })
			if err := f.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = f.cmd.Wait()
		})
	}
}

// listening are the ports on which a process, what it has started and what names the folder listens, and the unix
// sockets outside of the folder.
func listening(t *testing.T, root int, folder string) (all []string) {
	t.Helper()
	ours := familyOf(t, root, folder)
	if folder != "" && len(ours) < 5 {
		t.Errorf("only %d processes belong to the farm", len(ours))
	}
	connections, err := psnet.Connections("all")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range connections {
		kind := map[uint32]string{syscall.SOCK_STREAM: "tcp", syscall.SOCK_DGRAM: "udp"}[c.Type]
		switch {
		case !ours[int(c.Pid)]:
		case c.Family == syscall.AF_UNIX:
			inside := strings.HasPrefix(c.Laddr.IP, folder) || strings.HasPrefix(c.Laddr.IP, os.TempDir()+"/qb-") ||
				strings.HasPrefix(c.Laddr.IP, "/proc/self/fd/") // a shim names its folder by descriptor: paths of sockets are short
			if c.Laddr.IP != "" && folder != "" && !inside {
				all = append(all, "unix "+c.Laddr.IP)
			}
		case kind == "udp" && c.Raddr.Port == 0, kind == "tcp" && c.Status == "LISTEN":
			all = append(all, fmt.Sprintf("%s %s:%d", kind, c.Laddr.IP, c.Laddr.Port))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// familyOf are the pids of a process, of the ones that it has started, and of those whose command line names the
// folder: shims belong to no one.
func familyOf(t *testing.T, root int, folder string) map[int]bool {
	t.Helper()
	all, err := process.Processes()
	if err != nil {
		t.Fatal(err)
	}
	ours := map[int]bool{root: true}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			parent, _ := p.Ppid() // it may have ended
			line, _ := p.Cmdline()
			if !ours[int(p.Pid)] && (ours[int(parent)] || folder != "" && strings.Contains(line, folder)) {
				ours[int(p.Pid)], grown = true, true
			}
		}
	}
	return ours
}
