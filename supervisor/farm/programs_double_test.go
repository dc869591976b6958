package farm_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// programKey is the instance whose program a worker double keeps.
type programKey struct {
	job    facts.JobID
	number int
}

func (k programKey) compare(o programKey) int {
	return cmp.Or(cmp.Compare(k.job, o.job), cmp.Compare(k.number, o.number))
}

// programsDouble are the programs of load-once jobs that have no item on a worker, with their last attempts.
type programsDouble struct {
	there   map[programKey]facts.AttemptID
	ordered map[programKey]bool   // they are to end, and have ended with the next report unless the worker is slow
	words   map[programKey]string // the last answer to them
	numbers map[facts.AttemptID]int
	said    []string
	revived int // took an item after they had waited
}

// keeps notes that an attempt has ended by the word of its program, which takes another item.
func (p *programsDouble) keeps(id facts.AttemptID) {
	if p.there == nil {
		p.there = map[programKey]facts.AttemptID{}
		p.ordered = map[programKey]bool{}
		p.words = map[programKey]string{}
	}
	p.there[programKey{id.Job, p.numbers[id]}] = id
}

func (p *programsDouble) report(e *message.WorkerSynced, slow bool) {
	for _, key := range slices.SortedFunc(maps.Keys(p.there), programKey.compare) {
		state := "idle"
		if p.ordered[key] && !slow {
			p.end(key)
			continue
		} else if p.ordered[key] {
			state = "unloading"
		}
		e.Instances = append(e.Instances, message.ReportedInstance{Job: key.job, Instance: key.number, Attempt: p.there[key],
			State: state})
	}
}

func (p *programsDouble) end(key programKey) {
	delete(p.there, key)
	delete(p.ordered, key)
	delete(p.words, key)
}

// hear takes in the word for a program, and says whether the entry has one.
func (p *programsDouble) hear(host string, d message.DesiredInstance) bool {
	key := programKey{d.Job, d.Instance}
	if d.Program == "" {
		p.note(d.Attempt, d.Instance)
		if p.words[key] == "waiting" {
			p.revived++
		}
		p.end(key)
		return false
	}
	if _, there := p.there[key]; there && p.words[key] != d.Program {
		p.words[key] = d.Program
		p.said = append(p.said, fmt.Sprintf("program %d.%d on %s gets: %s\n", d.Job, d.Instance, host, d.Program))
	}
	p.ordered[key] = p.ordered[key] || d.Program == "pending" || d.Program == "complete"
	return true
}

// note keeps the number of an attempt's instance.
func (p *programsDouble) note(id facts.AttemptID, number int) {
	if p.numbers == nil {
		p.numbers = map[facts.AttemptID]int{}
	}
	p.numbers[id] = number
}

// leftOut has the programs end that an answer does not list.
func (p *programsDouble) leftOut(listed map[programKey]bool) {
	for key := range p.there {
		p.ordered[key] = p.ordered[key] || !listed[key]
	}
}
