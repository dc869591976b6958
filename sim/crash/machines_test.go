package crash

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"qb/sim/netns"
)

// onMachines is set by make netns-crash: supervisors and agents then have a network of their own each, joined by a
// switch, on which the rig has the proxies and the database. So they speak TLS, and any machine can be cut off, the
// leader's from its database, too.
const onMachines = "QB_CRASH_NETNS"

// machineFaults are drawn on machines besides all others.
var machineFaults = []crashFault{
	{"machine cut off", 4, (*crashRig).cutMachine},
	{"packets lost", 3, (*crashRig).losePackets},
}

func (r *crashRig) startMachines(agents int) {
	if !netns.Inside() {
		return
	}
	if os.Getenv("QB_CRASH_DATABASE") != "" {
		r.t.Fatal("the machines reach the rig's own database only: make netns-crash without DATABASE")
	}
	names := []string{"s1", "s2"}
	for i := range agents {
		names = append(names, "a"+strconv.Itoa(i+1))
	}
	programs, err := exec.LookPath("qb")
	r.must(err)
	network, err := netns.New(r.path("machines"), filepath.Dir(programs), names...)
	r.must(err)
	for i, name := range names {
		m, err := network.Start(i)
		r.must(err)
		if r.machines == nil {
			r.machines = map[string]*netns.Machine{}
		}
		r.machines[name] = m
	}
}

func (r *crashRig) powerMachinesOff() {
	for _, m := range r.machines {
		if err := m.PowerOff(); err != nil {
			r.t.Error(err)
		}
	}
}

// place moves a process into the network of its machine.
func (r *crashRig) place(p *crashProcess) {
	if m := r.machines[p.name]; m != nil {
		words := m.InNetwork(p.program, p.args...)
		p.program, p.args = words[0], words[1:]
	}
}

// scheme is the URL scheme of the supervisors' addresses.
func (r *crashRig) scheme() string {
	if r.machines != nil {
		return "https://"
	}
	return "http://"
}

// proxyListen is the address on which proxies listen, without the port.
func (r *crashRig) proxyListen() string {
	if r.machines != nil {
		return netns.SwitchAddress()
	}
	return "127.0.0.1"
}

// names are those by which a supervisor is called besides its address: agents know the proxies.
func (r *crashRig) names(supervisor string) string {
	if m := r.machines[supervisor]; m != nil {
		return m.Address + "," + netns.SwitchAddress()
	}
	return ""
}

// supervisorsDatabase is the database's URL for the supervisors, whose machines reach it by the switch alone.
func (r *crashRig) supervisorsDatabase() string {
	if r.machines == nil {
		return r.database
	}
	at, err := url.Parse(r.cluster.URL())
	r.must(err)
	q := at.Query()
	p, err := newCrashProxy(r.proxyListen(), "unix", filepath.Join(q.Get("host"), ".s.PGSQL."+q.Get("port")))
	r.must(err)
	r.toDatabase = p
	return "postgres://" + q.Get("user") + "@" + p.listener.Addr().String() + at.Path + "?sslmode=disable"
}

// shareAuthority gives a standby the first supervisor's certificate authority, which all programs of the rig trust.
func (r *crashRig) shareAuthority(standby string) {
	if r.machines == nil {
		return
	}
	r.must(os.MkdirAll(r.path(standby), 0o700))
	if out, err := exec.Command("cp", "-a", r.path("s1", "tls"), r.path(standby)).CombinedOutput(); err != nil {
		r.t.Fatalf("copying the folder tls: %v: %s", err, out)
	}
	r.must(os.Setenv("SSL_CERT_FILE", r.path("s1", "tls", "ca.crt")))
}

// aMachine draws one whose cable is in, and marks it as broken until the fault's end.
func (r *crashRig) aMachine() (*netns.Machine, string) {
	m := r.machines[sortedNames(r.machines)[r.random.IntN(len(r.machines))]]
	what := "machine " + m.Name
	if slices.ContainsFunc(r.undo, func(u crashUndo) bool { return strings.HasPrefix(u.what, what) }) {
		return nil, ""
	}
	return m, what
}

func (r *crashRig) cutMachine() bool {
	m, what := r.aMachine()
	if m == nil {
		return false
	}
	r.must(m.Cut(true))
	r.later(r.absence(), what+" cut off", func() { r.must(m.Cut(false)) })
	return true
}

func (r *crashRig) losePackets() bool {
	m, what := r.aMachine()
	if m == nil {
		return false
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.LosePackets(ctx) }()
	r.later(r.absence()+time.Second, what+" loses packets", func() {
		cancel()
		r.must(<-ended)
	})
	return true
}
