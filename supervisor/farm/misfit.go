package farm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"qb/supervisor/facts"
)

// misfit is why a host does not serve a job; zero: it does.
type misfit struct {
	Reason facts.Reason
	name   string // the resource or requirement; of user_refused the sentence
	actual string // what the requirement finds on the host
}

// refusal says why the host does not serve the job, whatever slots are taken now. Plan and Explain both ask it, and
// nothing else. The instance except, if any, is looked at as not there: it asks for itself.
func (f *Farm) refusal(now time.Time, h *host, j *job, except *instance) misfit {
	id := string(h.ID)
	overlap := func(names []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(h.Groups, n) })
	}
	switch {
	case !h.serves(now, j.User):
		return misfit{Reason: facts.ReasonUserRefused, name: h.unserved(j.User)}
	case len(j.Hosts) > 0 && !slices.Contains(j.Hosts, id):
		return misfit{Reason: facts.ReasonNotInHosts}
	case slices.Contains(j.OmitHosts, id):
		return misfit{Reason: facts.ReasonInOmitHosts}
	case len(j.Groups) > 0 && !overlap(j.Groups):
		return misfit{Reason: facts.ReasonNotInGroups}
	case overlap(j.OmitGroups):
		return misfit{Reason: facts.ReasonInOmitGroups}
	case !within(j.needs.within, h.Cluster):
		return misfit{Reason: facts.ReasonRestricted}
	case h.Slots < j.needs.slots:
		return misfit{Reason: facts.ReasonTooFewSlots}
	case h.tooSmall(j):
		return misfit{Reason: facts.ReasonTooLittleMemory}
	}
	for _, name := range slices.Sorted(maps.Keys(j.needs.takes)) {
		if strings.HasPrefix(name, "host.") && h.stock(name) < j.needs.takes[name] {
			return misfit{Reason: facts.ReasonTooLittle, name: name}
		}
	}
	if failing := j.needs.required.Failing(f.property(h, j, except)); len(failing) > 0 {
		return misfit{facts.ReasonRequirement, failing[0].Text, failing[0].Actual}
	}
	return misfit{}
}

// serves is whether there is none.
func (m misfit) serves() bool { return m.Reason == "" }

// on tells why the host does not serve the job.
func (m misfit) on(h *host, j *job) string {
	switch m.Reason {
	case facts.ReasonRestricted:
		return fmt.Sprintf("its cluster %s is not within the job's restrictions %s", h.Cluster, j.Restrictions)
	case facts.ReasonTooFewSlots:
		return fmt.Sprintf("it has %d slots, an instance takes %d", h.Slots, j.needs.slots)
	case facts.ReasonTooLittleMemory:
		return fmt.Sprintf("it has %s of memory, an instance takes %s", facts.Size(h.Memory), facts.Size(j.mostMemory()))
	case facts.ReasonTooLittle:
		return fmt.Sprintf("it has %s, an instance takes %s", quantity(m.name, h.stock(m.name)), amountOf(m.name, j.needs.takes[m.name]))
	case facts.ReasonRequirement:
		return fmt.Sprintf("%s does not hold (%s)", m.name, m.actual)
	}
	return m.generally(j)
}

// generally is the same without what only that host has.
func (m misfit) generally(j *job) string {
	switch m.Reason {
	case facts.ReasonNotInHosts:
		return "it is not in the job's hosts"
	case facts.ReasonInOmitHosts:
		return "it is in the job's omithosts"
	case facts.ReasonNotInGroups:
		return "it is in none of the job's groups"
	case facts.ReasonInOmitGroups:
		return "it is in one of the job's omitgroups"
	case facts.ReasonRestricted:
		return "its cluster is not within the job's restrictions " + j.Restrictions
	case facts.ReasonTooFewSlots:
		return fmt.Sprintf("too few slots, an instance takes %d", j.needs.slots)
	case facts.ReasonTooLittleMemory:
		return "too little memory, an instance takes " + facts.Size(j.mostMemory())
	case facts.ReasonTooLittle:
		return fmt.Sprintf("too little of %s, an instance takes %s", m.name, amountOf(m.name, j.needs.takes[m.name]))
	case facts.ReasonRequirement:
		return m.name + " does not hold"
	}
	return m.name // of user_refused the whole sentence
}
