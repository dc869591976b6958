package main

// simSometimes are the points that enough seeds must reach: a point that is never reached is one that the
// simulator does not test, whatever it says.
var simSometimes = []string{
	"a charge across a clock that was set",
	"a charge to the end of a lease",
	"a term stood for want of room",
	"a standing term had its worker keep a record",
	"the farm wrote again after want of room",
	"a GPU given",
	"the last licence given",
	"a primary made way for a better priority",
	"a secondary gave its slot back",
	"stale word changed nothing",
	"a host that hears nothing was answered in vain",
	"lost by lease of a host that hears nothing",
	"two agents share a machine",
	"memory promised",
	"memory promised beside a promise of an earlier term",
	"the last memory promised",
	"an item ran out of memory",
	"the kernel killed for memory",
	"a start that no longer fits refused",
	"an item held as poison",
	"a host left with fewer slots than are taken",
	"a host gone for good",
	"a host back long after the last fault",
	"the brake engaged",
	"the brake released",
	"unkillable reached",
	"a host locked by the farm",
	"a host suspected by the farm",
	"a hopeless job blocked",
	"commit unknown resolved as committed",
	"commit unknown resolved as not committed",
	"a replaced leader's commit refused",
	"a silent leader's session ended by the database",
	"a stopped leader woke after another took over",
	"a leader without a young proof kept silent",
	"leadership changed hands",
	"a silent supervisor was left for the next",
	"stale report refused",
	"duplicate submit answered with the old id",
	"a repeated change answered from memory",
	"an ended job taken up again by its record",
	"freeze ran",
	"freeze ran without an agent",
	"thaw ran",
	"lost by lease",
	"an attempt that never started lost by lease",
	"absence taken as proof",
	"a stopped attempt that never started",
	"boot id fast path",
	"preempted",
	"killed while it ran",
	"a stop met the natural end",
	"an item ended by itself after its stop signal",
	"a stop order met the natural end",
	"wiped state folder",
	"a record waited for room on the disk",
	"an end told without a record on a full disk",
	"a loss recorded in the room set aside",
	"a loss waited for room on the disk",
	"running item taken up by a restarted agent",
	"a result kept over a restart of the agent",
	"a shim did not answer a restarted agent",
	"a shim that did not answer killed by its agent",
	"the agent died between two orders of a step",
	"a dead host confirmed by hand",
	"a higher term was heard of",
	"a leader stopped for a copy of its database",
	"hosts were listened to after a restore",
}

// simRare are reached once in a thousand seeds or less.
var simRare = []string{"an item held as poison", "a hopeless job blocked"}

// The faults themselves are such points too.
func init() {
	for _, fault := range simFaultKinds {
		simSometimes = append(simSometimes, "fault: "+fault.name)
	}
}
