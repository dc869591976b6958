package worker

import (
	"maps"
	"path/filepath"
	"slices"

	"qb/api"
	"qb/worker/core"
	"qb/worker/settings"
	"qb/worker/shim"
)

// centralFile keeps what was taken last, so that a worker that starts offers at once what it did.
const centralFile = "central"

// central is what the worker has taken of the supervisor's file.
type central struct {
	own  settings.Config // the configuration without it
	keys []string        // that the own one sets
	api.Central
	err string // why it was not taken
}

// takeCentral has the agent offer what the supervisor's file says. What cannot be is said, and leaves all as it was.
func (a *agent) takeCentral(c api.Central) {
	config, err := a.central.own.WithCentral(c.Values, a.central.keys)
	if err == nil {
		config, err = config.Settled(cores())
	}
	a.central.Central.Version, a.central.err = c.Version, ""
	if err != nil {
		a.central.err = err.Error()
		a.log.Warn("the central configuration (supervisor_worker_configfile) cannot be used on this host; the worker keeps its former settings", "error", err)
		return
	}
	a.keeper.stop()
	a.keeper = a.startKeeper(config)
	a.config, a.central.Values = config, c.Values
	a.launcher.hidesGPUs.Store(a.hidesGPUs())
	if err := shim.ReplaceSealed(filepath.Join(a.state.root, centralFile), c, true); err != nil {
		a.log.Warn("the central configuration cannot be saved; after a restart the worker starts without it until the supervisor sends it", "error", err)
	}
	a.log.Info("central configuration applied", "version", c.Version, "keys", slices.Sorted(maps.Keys(c.Values)))
}

// configure is the order to take a central configuration: the next sync tells what has become of it.
func (a *agent) configure(c api.Central) {
	a.takeCentral(c)
	a.post(core.Configured{Identity: a.identity(), Stress: a.stress()})
}

// loadCentral takes up what was taken last.
func (a *agent) loadCentral() {
	var c api.Central
	if shim.ReadSealed(filepath.Join(a.state.root, centralFile), &c) == nil {
		a.takeCentral(c)
	}
}
