package model

import (
	"cmp"
	"strconv"

	"qb/internal/listdigest"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// Lists are the agent's list of instances, as of its last sync that was read, and the list of the last answer. The next
// sync and the next answer may say only what differs from them.
type Lists struct {
	Reported map[facts.AttemptID]ReportedInstance
	reported listdigest.Digest
	answered answered
}

// ReportedInstance is an instance on the agent's list.
type ReportedInstance struct {
	State        string
	Memory       int64
	SuspensionID int64
	Progress     int
	instance     int
	word         string // for its state, of the agent
}

// maxReported bounds the list of an agent.
const maxReported = 10_000

// TakeList takes in the list of a sync. It returns false, and changes nothing, if the sync has differences that do not
// lead from this list to the agent's, by its digest. After true, what is absent here is absent on the host. Differences
// have what has changed since a sync, and what has changed back, so they lead there from the list of that sync and from
// those of all later ones.
func (l *Lists) TakeList(e *message.WorkerSynced) bool {
	switch {
	case e.Since == 0:
		*l = Lists{Reported: make(map[facts.AttemptID]ReportedInstance, len(e.Instances)), answered: l.answered}
	case len(l.Reported)+len(e.Instances) > maxReported || l.digestAfter(e) != e.Digest:
		return false
	}
	for _, id := range e.Gone {
		l.remove(&l.reported, id)
		delete(l.Reported, id)
	}
	for n := range e.Instances {
		i := &e.Instances[n]
		l.remove(&l.reported, i.Attempt)
		l.reported.Add(digestLine(i.Attempt, i.Instance, i.Word, i.SuspensionID))
		l.Reported[i.Attempt] = ReportedInstance{i.State, i.Memory, i.SuspensionID, i.Progress, i.Instance, i.Word}
	}
	return true
}

// TakeMemory takes the memory of instances on the list as it was believed, and not as the agent said it.
func (l *Lists) TakeMemory(believed []message.ReportedInstance) {
	for n := range believed {
		if r, listed := l.Reported[believed[n].Attempt]; listed && r.Memory != believed[n].Memory {
			r.Memory = believed[n].Memory
			l.Reported[believed[n].Attempt] = r
		}
	}
}

// Has says what the agent has last reported of an instance, whatever its attempt.
func (l *Lists) Has(i *Instance) (r ReportedInstance, there bool) {
	if r, there := l.Reported[i.Attempt.AttemptID]; there {
		return r, true
	}
	for id, r := range l.Reported {
		if id.Job == i.Job.ID && r.instance == i.Number {
			return r, true
		}
	}
	return r, false
}

// digestAfter is the digest of the agent's list with the differences of a sync.
func (l *Lists) digestAfter(e *message.WorkerSynced) string {
	digest := l.reported
	for _, id := range e.Gone {
		l.remove(&digest, id)
	}
	for _, i := range e.Instances {
		l.remove(&digest, i.Attempt)
		digest.Add(digestLine(i.Attempt, i.Instance, i.Word, i.SuspensionID))
	}
	return digest.String()
}

func (l *Lists) remove(digest *listdigest.Digest, id facts.AttemptID) {
	if i, known := l.Reported[id]; known {
		digest.Remove(digestLine(id, i.instance, i.word, i.SuspensionID))
	}
}

func digestLine(id facts.AttemptID, instance int, word string, suspension int64) listdigest.Line {
	return listdigest.Line{Job: int64(id.Job), Instance: instance, Item: int(id.Item), Number: id.Number, Word: word,
		Suspension: suspension}
}

// ForgetAnswer makes the next answer complete.
func (l *Lists) ForgetAnswer() { l.answered = answered{} }

// answered is the list of the last answer to an agent that takes differences.
type answered struct {
	number uint64 // of the answer; 0: there is none, so that the next one is complete
	lines  []line // by job and number
}

// line is what may change of a DesiredInstance while the job has one version and the farm one policy.
type line struct {
	attempt    facts.AttemptID
	number     int
	kind       facts.Kind
	slots      int
	memory     int64
	timeLimit  float64
	version    int64
	suspension int64
	program    ProgramStatus
	next       facts.AttemptID   // zero: none
	digest     listdigest.Digest // of the line
}

func lineOf(i *Instance) line {
	limit, _ := i.timeLimit()
	l := line{attempt: i.Attempt.AttemptID, number: i.Number, kind: i.Kind, slots: i.Slots, memory: i.Attempt.Memory,
		timeLimit: limit, version: i.Job.Version, suspension: i.SuspensionID(), program: i.Status}
	if next := i.HandedAhead(); next != nil {
		l.next = next.Attempt.AttemptID
	}
	return l
}

func (l *line) compare(o *line) int {
	return cmp.Or(cmp.Compare(l.attempt.Job, o.attempt.Job), cmp.Compare(l.number, o.number))
}

// differ makes an answer one of differences from the list, if the agent has taken just that and they are fewer, and
// returns what it has to name. The list is that of this answer then.
func (a *answered) differ(named []*Instance, heard uint64, reply *message.SyncReply) []*Instance {
	next := answered{number: reply.Number, lines: make([]line, len(named))}
	var changed []*Instance
	var gone []message.InstanceID
	var digest listdigest.Digest
	at := 0
	drop := func() {
		gone = append(gone, message.InstanceID{Job: a.lines[at].attempt.Job, Instance: a.lines[at].number})
		at++
	}
	for n, i := range named {
		is := lineOf(i)
		for at < len(a.lines) && a.lines[at].compare(&is) < 0 {
			drop()
		}
		if at < len(a.lines) && a.lines[at].compare(&is) == 0 {
			is.digest = a.lines[at].digest
			at++
		}
		if at == 0 || a.lines[at-1] != is {
			is.digest = listdigest.Digest{}
			is.digest.Add(digestLine(is.attempt, is.number, strconv.FormatInt(is.version, 10)+string(is.program),
				is.suspension))
			if is.next != (facts.AttemptID{}) {
				is.digest.Add(digestLine(is.next, is.number, listdigest.Next, 0))
			}
			changed = append(changed, i)
		}
		digest.Join(is.digest)
		next.lines[n] = is
	}
	for at < len(a.lines) {
		drop()
	}
	follows := heard == a.number && len(changed)+len(gone) < len(named)
	*a = next
	if !follows {
		return named
	}
	reply.Since, reply.Gone, reply.Digest = heard, gone, digest.String()
	return changed
}
