package worker

import (
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	"qb/worker/cgroup"
	"qb/worker/shim"
	"qb/worker/tree"
)

// logGroups logs once which control groups this host allows. That it allows none is a warning unless that is usual.
func (a *agent) logGroups(usual bool) {
	name := "probe-" + strconv.Itoa(os.Getpid())
	probe := tree.New(a.groupKinds, name)
	defer probe.Remove()
	c, k := probe.Group, probe.Counted
	if c.Kind == "" {
		level := slog.LevelWarn
		if usual {
			level = slog.LevelInfo
		}
		a.log.Log(a.ctx, level, "the worker cannot make control groups on this host: it searches the process table for processes that leave their parent, and a process that also clears its environment may outlive a killed shim; run the worker as root or under systemd with Delegate=yes")
		return
	}
	a.log.Info("items are held in control groups", "kind", c.Kind, "folder", filepath.Dir(c.Folder), "memory_limits",
		cgroup.MemoryEnforcer(k))
	if os.Geteuid() == 0 && (k.Memory.Kind == "" || k.Pids.Kind == "") {
		a.log.Warn("control groups on this host do not count items' memory or processes: memory is added up from the process table, and worker_processes counts all processes of an item's user",
			"memory", k.Memory.Kind != "", "processes", k.Pids.Kind != "")
	}
}

// sweep removes what items left behind, if it was not removed at their end. What is there is listed before what runs:
// an item that starts meanwhile is in neither list.
func (a *agent) sweep() {
	left, runs := a.temps.names(), map[string]bool{}
	for _, id := range a.core.Attempts() {
		runs[shim.AttemptName(id)] = true
	}
	for key := range a.conns { // folders of programs that are kept
		runs[key.String()] = true
	}
	if a.sweeping.CompareAndSwap(false, true) {
		go func() {
			defer a.sweeping.Store(false)
			for _, name := range left {
				if !runs[name] && a.ctx.Err() == nil {
					a.temps.remove(a.ctx, name)
				}
			}
			if n := cgroup.Sweep(a.groupKinds); n > 0 {
				a.log.Info("control groups without items removed", "groups", n)
			}
		}()
	}
}

// ownThings is what items have for themselves on this host, as configured and as the host lets us; what it does not let
// us is said once.
func (a *agent) ownThings() (p shim.Private, temps string) {
	c := a.config
	p = shim.Private{NoNewPrivs: c.NoNewPrivs, Processes: c.Processes, Files: c.OpenFiles, NoCore: !c.CoreDumps}
	if err := shim.CanMount(); err != nil {
		a.log.Warn("the worker cannot mount on this host: items share /dev/shm and /tmp", "error", err)
	} else {
		if m, err := hostMemory(); err == nil {
			p.Shm = m.Total / 2
		}
		if most := int64(c.Memory); most > 0 {
			p.Shm = min(p.Shm, most/2)
		}
		p.OwnTmp = c.PrivateTmp
	}
	temps = shim.TempsOf(a.state.id)
	if err := shim.OpenTemps(temps); err != nil {
		a.log.Warn("items have no TMPDIR of their own", "error", err)
		return p, ""
	}
	return p, temps
}
