package fit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"qb/agenda"
	"qb/internal/units"
	"qb/supervisor/job/facts"
)

// Job is a job as far as it decides which hosts may run it.
type Job struct {
	*facts.JobFacts
	Needs
	Learned int64                    // bytes that its next instance needs, by what ended; 0: nothing is known
	Avoids  map[facts.HostID]Refuses // hosts on which its items failed, and until when it avoids them
	Started bool                     // some item has
}

// MostMemory is what was asked for or what is known to be needed, whichever is more.
func (j *Job) MostMemory() int64 { return max(j.Memory, j.Learned) }

// Bare is the job as it would be if it asked for nothing.
func (j *Job) Bare() Job {
	row := *j.JobFacts
	row.Hosts = nil
	row.OmitHosts = nil
	row.Groups = nil
	row.OmitGroups = nil
	return Job{JobFacts: &row, Needs: Needs{Slots: 1, Takes: map[string]int64{}, Required: NoRequirement}}
}

// NoRequirement asks for nothing.
var NoRequirement = func() *agenda.Requirement {
	r, err := agenda.ParseRequirement("", nil)
	if err != nil {
		panic(err) // an empty text asks for nothing
	}
	return r
}()

// Refusal is why a host does not serve a job.
type Refusal struct {
	Kind       facts.Reason // "": the host serves the job
	Name       string       // the resource, the text of the requirement, or the refused user
	Have, Want Value
	Mixed      bool      // it is of several hosts, which differ in what they have
	Until      time.Time // when it ends by itself; zero: it does not
	asked      time.Time // when it was asked for, if it ends by itself
}

// Value is an amount or a text.
type Value struct {
	Amount int64
	Text   string
}

// Serves says whether there is none.
func (r Refusal) Serves() bool { return r.Kind == "" }

// Refused says why the host does not serve the job, whatever slots are taken now.
func (j *Job) Refused(now time.Time, h *Host, load Load) Refusal {
	if avoided := j.Avoided(now, h); !avoided.Serves() {
		return avoided
	}
	return j.Unfit(h, load)
}

// Avoided says why the host gets nothing of the job for a while, though it may be fit for it.
func (j *Job) Avoided(now time.Time, h *Host) Refusal {
	if !h.servesUser(j.User) {
		return Refusal{} // that is for good
	}
	if r := h.avoidsUser(now, j.User); !r.Serves() {
		return r
	}
	if r := j.lacks(now, h); !r.Serves() {
		return r
	}
	return h.avoidedBy(now, j.Avoids)
}

// avoidedBy says whether a job avoids the host that avoids these.
func (h *Host) avoidedBy(now time.Time, avoids map[facts.HostID]Refuses) Refusal {
	no := avoids[h.ID]
	if !now.Before(no.Until) {
		return Refusal{}
	}
	return Refusal{Kind: facts.ReasonFailedThere, Have: Value{Amount: int64(no.Failed)}, Until: no.Until, asked: now}
}

// Unfit says why the host does not serve the job, not counting what has happened there.
func (j *Job) Unfit(h *Host, load Load) Refusal {
	overlap := func(names []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(h.Groups, n) })
	}
	short := func(kind facts.Reason, have, want int64) Refusal {
		return Refusal{Kind: kind, Have: Value{Amount: have}, Want: Value{Amount: want}}
	}
	switch {
	case !h.servesUser(j.User):
		return h.refusesUser(j.User)
	case len(j.Hosts) > 0 && !slices.Contains(j.Hosts, string(h.ID)):
		return Refusal{Kind: facts.ReasonNotInHosts}
	case slices.Contains(j.OmitHosts, string(h.ID)):
		return Refusal{Kind: facts.ReasonInOmitHosts}
	case len(j.Groups) > 0 && !overlap(j.Groups):
		return Refusal{Kind: facts.ReasonNotInGroups}
	case overlap(j.OmitGroups):
		return Refusal{Kind: facts.ReasonInOmitGroups}
	case !within(j.Within, h.Cluster):
		return Refusal{Kind: facts.ReasonRestricted, Have: Value{Text: h.Cluster}, Want: Value{Text: j.Restrictions}}
	case !slices.Contains(h.JobTypes(), j.Type()):
		return Refusal{Kind: facts.ReasonJobType, Have: Value{Text: strings.Join(h.JobTypes(), ",")},
			Want: Value{Text: j.Type()}}
	case j.foreign.family != "" && !j.refusesSystem(h).Serves():
		return j.refusesSystem(h)
	case h.Slots < j.Slots:
		return short(facts.ReasonTooFewSlots, int64(h.Slots), int64(j.Slots))
	case h.Memory > 0 && h.Memory < j.MostMemory():
		return short(facts.ReasonTooLittleMemory, h.Memory, j.MostMemory())
	}
	for _, name := range slices.Sorted(maps.Keys(j.Takes)) {
		if have := h.Stock(name); strings.HasPrefix(name, "host.") && have < j.Takes[name] {
			r := short(facts.ReasonTooLittle, have, j.Takes[name])
			r.Name = name
			return r
		}
	}
	if failing := j.Failing(h, load); len(failing) > 0 {
		return Refusal{Kind: facts.ReasonRequirement, Name: failing[0].Text, Have: Value{Text: failing[0].Actual}}
	}
	return Refusal{}
}

// Failing are the clauses of the job's requirements that do not hold on the host.
func (j *Job) Failing(h *Host, load Load) []agenda.Failure {
	return j.Required.Failing(func(name string) (agenda.Value, bool) {
		if v, ok := j.Property(name); ok {
			return v, true
		}
		return h.property(name, load)
	})
}

// lacks refuses a host that is known to lack what the job needs.
func (j *Job) lacks(now time.Time, h *Host) Refusal {
	if l, until, ok := h.Lacks.Of(now, j.JobFacts); ok {
		return Refusal{Kind: l.Reason(), Name: l.Folder, Want: Value{Text: l.User}, Until: until, asked: now}
	}
	return Refusal{}
}

// refusesUser says that the worker runs items of another user only.
func (h *Host) refusesUser(user string) Refusal {
	return Refusal{Kind: facts.ReasonUserRefused, Name: user, Have: Value{Text: h.AgentUser}}
}

// avoidsUser says why the host runs nothing for the user for a while: items failed there, or it could not run as the
// user.
func (h *Host) avoidsUser(now time.Time, user string) Refusal {
	no := h.Refuses[user]
	if !now.Before(no.Until) {
		return Refusal{}
	}
	return Refusal{Kind: facts.ReasonUserRefused, Name: user, Have: Value{Amount: int64(no.Failed)}, Until: no.Until,
		asked: now}
}

// Alike is equal for refusals that one sentence may sum up: of one resource or requirement, of hosts that have more or
// less of it.
func (r Refusal) Alike() Refusal {
	if r.Kind != facts.ReasonUserRefused {
		r.Have = Value{}
	}
	if !r.Until.IsZero() {
		r.Have.Amount = 0
		r.Until = time.Time{}
		r.asked = time.Time{}
	}
	r.Mixed = false
	return r
}

// String tells why a host does not serve the job; of hosts that differ, without what only one of them has.
func (r Refusal) String() string {
	switch r.Kind {
	case facts.ReasonUserRefused:
		return r.userText()
	case facts.ReasonFolderMissing:
		return fmt.Sprintf("the job's working folder %s is missing there", r.Name)
	case facts.ReasonFolderDenied:
		return fmt.Sprintf("the job's working folder %s is closed to %s there", r.Name, r.Want.Text)
	case facts.ReasonEnvironment:
		return "an environment of the job could not be entered there"
	case facts.ReasonFailedThere:
		return r.avoidedText("the job")
	case facts.ReasonNotInHosts:
		return "not in the job's hosts"
	case facts.ReasonInOmitHosts:
		return "in the job's omithosts"
	case facts.ReasonNotInGroups:
		return "in none of the job's groups"
	case facts.ReasonInOmitGroups:
		return "in one of the job's omitgroups"
	case facts.ReasonRestricted:
		return fmt.Sprintf("cluster%s is not within the job's restrictions %s", r.had(" "+r.Have.Text), r.Want.Text)
	case facts.ReasonJobType:
		return fmt.Sprintf("runs no jobs of type %s%s", r.Want.Text, r.had(", only "+r.Have.Text))
	case facts.ReasonSystem:
		return r.systemText()
	case facts.ReasonTooFewSlots:
		return fmt.Sprintf("%s, an instance takes %d", r.short(fmt.Sprintf("%d slots", r.Have.Amount), "too few slots"),
			r.Want.Amount)
	case facts.ReasonTooLittleMemory:
		return fmt.Sprintf("%s, an instance takes %s", r.short(units.Size(r.Have.Amount)+" of memory", "too little memory"),
			units.Size(r.Want.Amount))
	case facts.ReasonTooLittle:
		return fmt.Sprintf("%s, an instance takes %s", r.short(Quantity(r.Name, r.Have.Amount), "too little of "+r.Name),
			Amount(r.Name, r.Want.Amount))
	case facts.ReasonRequirement:
		return fmt.Sprintf("%s does not hold%s%s", r.Name, r.atPresent(), r.had(" ("+r.Have.Text+")"))
	}
	return ""
}

// momentary are the properties of a host that change while it runs items.
var momentary = []string{"host.processors.used", "host.processors.avail", "host.memory.avail", "host.state"}

// atPresent says that a requirement which does not hold may hold a moment later.
func (r Refusal) atPresent() string {
	if slices.ContainsFunc(momentary, func(name string) bool { return strings.Contains(r.Name, name) }) {
		return " now"
	}
	return ""
}

// had is the text, which tells what one host has, if it is of one.
func (r Refusal) had(text string) string {
	if r.Mixed {
		return ""
	}
	return text
}

// short says what the host has too little of.
func (r Refusal) short(has, little string) string {
	if r.Mixed {
		return little
	}
	return "has " + has
}

func (r Refusal) userText() string {
	if r.Have.Text != "" {
		return fmt.Sprintf("the worker runs jobs of %s only, not of %s (worker_run_as = \"agent\")", r.Have.Text, r.Name)
	}
	return r.avoidedText(r.Name)
}

// avoidedText says for how long the host gets no items of a user or a job, and why.
func (r Refusal) avoidedText(whose string) string {
	text := "no items of " + whose + " for a while"
	if !r.Mixed && !r.Until.IsZero() {
		text = "no items of " + whose + " until " + facts.Clock(r.asked, r.Until)
	}
	return text + ", " + r.Trouble()
}

// Trouble says what has happened on a host that gets nothing of a user or a job for a while.
func (r Refusal) Trouble() string {
	switch failed := int(r.Have.Amount); {
	case r.Mixed:
		return "items failed or could not run there"
	case r.Kind == facts.ReasonFolderMissing:
		return "working folder missing"
	case r.Kind == facts.ReasonFolderDenied:
		return "working folder closed to the user"
	case r.Kind == facts.ReasonEnvironment:
		return "an environment could not be entered"
	case failed == 1:
		return "1 failure"
	case failed > 1:
		return fmt.Sprintf("%d failures", failed)
	case r.Kind == facts.ReasonFailedThere:
		return "items were migrated from there"
	}
	return "an item could not run there"
}
