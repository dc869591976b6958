package live

import (
	"maps"
	"slices"

	"qb/supervisor/job/facts"
	"qb/supervisor/wire/translate"
)

// maxTogether limits the items whose new states are sent individually; if more change at once, readers read all items
// again.
const maxTogether = 20_000

// feed is the items of a job that somebody looks at.
type feed struct {
	readers int
	pending map[facts.ItemNo]byte // letters that are not sent yet
	anew    bool                  // all are to be read: marks or the job's state have changed
	seq     uint64
	last    *Message
}

type itemChanges struct {
	Job    facts.JobID    `json:"job"`
	Anew   bool           `json:"anew,omitempty"`
	Items  []facts.ItemNo `json:"items,omitempty"`
	States string         `json:"states,omitempty"`
}

// Letter is the state of an item in one letter.
func Letter(status string, kind facts.Kind) byte {
	switch {
	case status == "":
		return 'p'
	case status == "running" && kind == facts.Secondary:
		return 's'
	}
	return status[0] // pending, running, complete, failed, killed, blocked
}

// Note takes in what a commit has made durable.
func (b *Board) Note(writes []facts.Write) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.items) == 0 {
		return
	}
	for _, w := range writes {
		switch w := w.(type) {
		case facts.StartAttempt:
			b.letter(w.Attempt.AttemptID, Letter("running", w.Attempt.Kind))
		case facts.RelabelAttempt:
			b.letter(w.ID, Letter("running", w.Kind))
		case facts.EndAttempt:
			ended := facts.AttemptFacts{RunFacts: facts.RunFacts{State: w.State}, Again: w.Again}
			b.letter(w.ID, Letter(translate.StatusOf(ended), facts.Primary))
		case facts.ReopenAttempts:
			b.readAnew(w.Job)
		case facts.ChangeMarks:
			b.readAnew(w.Job)
		case facts.PutJob:
			b.readAnew(w.Job.ID)
		}
	}
}

func (b *Board) letter(id facts.AttemptID, letter byte) {
	if f := b.items[id.Job]; f != nil && !f.anew {
		f.pending[id.Item] = letter
		f.anew = len(f.pending) > maxTogether
	}
}

func (b *Board) readAnew(job facts.JobID) {
	if f := b.items[job]; f != nil {
		f.anew = true
	}
}

// send makes a message of what has come since the last.
func (f *feed) send(job facts.JobID) bool {
	if !f.anew && len(f.pending) == 0 {
		return false
	}
	change := itemChanges{Job: job, Anew: f.anew}
	if !f.anew {
		change.Items = slices.Sorted(maps.Keys(f.pending))
		letters := make([]byte, len(change.Items))
		for n, item := range change.Items {
			letters[n] = f.pending[item]
		}
		change.States = string(letters)
	}
	f.anew, f.last = false, NewMessage("items", change)
	clear(f.pending)
	f.seq++
	return true
}

func (f *feed) since(job facts.JobID, seen uint64) *Message {
	switch f.seq {
	case seen:
		return nil
	case seen + 1:
		return f.last
	}
	return NewMessage("items", itemChanges{Job: job, Anew: true})
}
