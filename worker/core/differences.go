package core

import (
	"maps"
	"slices"
	"strconv"

	"qb/api"
	"qb/internal/listdigest"
)

// Report is what syncs have said of the host's instances, so that the next one can leave out what the supervisor knows.
// Differences are from the last sync whose answer allowed them, whatever was sent since: the supervisor may have read
// none of the syncs after it, or some. So an instance that has changed and changed back is listed, too.
type Report struct {
	from uint64 // the first sync with this report
	base uint64 // differences are from this sync; 0: the next sync has the complete list
	said map[api.AttemptID]saidInstance
	gone map[api.AttemptID]uint64 // the first sync that no longer listed it, later than base
}

type saidInstance struct {
	api.SyncInstance
	changed uint64 // the sync that first said so
}

// Answered notes the answer to a sync, and whether the supervisor takes differences from its list.
func (r *Report) Answered(sequence uint64, differences bool) {
	if !differences || sequence < r.from {
		r.Forget()
		return
	}
	r.base = max(r.base, sequence)
	maps.DeleteFunc(r.gone, func(_ api.AttemptID, since uint64) bool { return since <= r.base })
}

// Forget has the next sync list everything. It is right at any time, and due where in doubt.
func (r *Report) Forget() { *r = Report{} }

// Fill makes the complete list of a sync differences, if there may be some and they are fewer.
func (r *Report) Fill(s *api.Sync) {
	s.Differences = true
	list := s.Instances
	r.note(s.Sequence, list)
	if r.base == 0 {
		return
	}
	var changed []api.SyncInstance
	var digest listdigest.Digest // of what is there, whatever was said, so that it shows a mistake made here
	for n := range list {
		digest.Add(reportedLine(&list[n]))
		if r.said[list[n].Attempt].changed > r.base {
			changed = append(changed, list[n])
		}
	}
	if len(changed)+len(r.gone) >= len(list) {
		return
	}
	s.Since, s.Digest, s.Instances = r.base, digest.String(), changed
	s.Gone = slices.SortedFunc(maps.Keys(r.gone), compareAttempts)
}

// note takes in the list of a sync.
func (r *Report) note(sequence uint64, list []api.SyncInstance) {
	if r.from == 0 {
		*r = Report{from: sequence, said: map[api.AttemptID]saidInstance{}, gone: map[api.AttemptID]uint64{}}
	}
	for n := range list {
		i := &list[n]
		was, known := r.said[i.Attempt]
		if !known || moved(&was.SyncInstance, i) {
			r.said[i.Attempt] = saidInstance{*i, sequence}
		}
	}
	if len(r.said) == len(list) {
		return
	}
	listed := make(map[api.AttemptID]bool, len(list))
	for n := range list {
		listed[list[n].Attempt] = true
	}
	maps.DeleteFunc(r.said, func(id api.AttemptID, _ saidInstance) bool {
		if !listed[id] {
			r.gone[id] = sequence
		}
		return !listed[id]
	})
}

// moved says whether an instance differs from what was said of it. Memory that moves a little is no difference: it does
// in each item all the time.
func moved(was, is *api.SyncInstance) bool {
	return was.Instance != is.Instance || was.State != is.State || was.SuspensionID != is.SuspensionID ||
		was.Progress != is.Progress || max(was.Memory-is.Memory, is.Memory-was.Memory) > min(was.Memory/16, memoryStep)
}

// Wish is what should run, as the last answer that was taken says.
type Wish struct {
	Instances map[Key]api.Desired
	digest    listdigest.Digest
}

// Fits says whether the differences of an answer lead from this wish to the list that its supervisor means. A complete
// list always does.
func (w *Wish) Fits(reply *api.SyncReply) bool {
	if reply.Since == 0 {
		return true
	}
	digest := w.digest
	for _, g := range reply.Gone {
		if d, known := w.Instances[Key{g.Job, g.Instance}]; known {
			drop(&digest, &d)
		}
	}
	for n := range reply.Instances {
		d := &reply.Instances[n]
		if was, known := w.Instances[keyOf(d)]; known {
			drop(&digest, &was)
		}
		add(&digest, d)
	}
	return digest.String() == reply.Digest
}

// Take makes the list of an answer that fits the wish. A list that names an instance twice keeps the first.
func (w *Wish) Take(reply *api.SyncReply) {
	if reply.Since == 0 {
		*w = Wish{Instances: make(map[Key]api.Desired, len(reply.Instances))}
	}
	for _, g := range reply.Gone {
		key := Key{g.Job, g.Instance}
		if d, known := w.Instances[key]; known {
			drop(&w.digest, &d)
			delete(w.Instances, key)
		}
	}
	for n := range reply.Instances {
		d := &reply.Instances[n]
		was, known := w.Instances[keyOf(d)]
		if known && reply.Since == 0 {
			continue
		}
		if known {
			drop(&w.digest, &was)
		}
		add(&w.digest, d)
		w.Instances[keyOf(d)] = *d
	}
}

// of is what an instance should run: what the last answer lists for it or, if it has done that, the item that it
// holds ahead. An item that it has begun so is wanted as long as the answer lists the one before it: the supervisor has
// yet to hear of that one's end.
func (w *Wish) of(i *instance, records map[api.AttemptID]*record) (want api.Desired, ok bool) {
	want, ok = w.Instances[i.key]
	done := records[want.Attempt]
	switch {
	case !ok || done == nil || want.Program != "":
	case i.behind == want.Attempt, want.Next != nil && i.attempt == want.Next.Attempt: // or under a former agent
		want.Attempt = i.attempt
		want.Suspended, want.SuspensionID = false, 0
	case i.attempt == want.Attempt && i.state == StateIdle && want.Next != nil && completed(&done.finished):
		next := want.Next
		want.Attempt, want.Next = next.Attempt, nil
		want.Name, want.Start = next.Name, next.Start
		want.End, want.Step = next.End, next.Step
	}
	return want, ok
}

func keyOf(d *api.Desired) Key { return Key{d.Attempt.Job, d.Instance} }

// add puts the lines of an instance into the digest of an answer's list.
func add(digest *listdigest.Digest, d *api.Desired) {
	digest.Add(desiredLine(d))
	if d.Next != nil {
		digest.Add(nextLine(d))
	}
}

// drop takes them out.
func drop(digest *listdigest.Digest, d *api.Desired) {
	digest.Remove(desiredLine(d))
	if d.Next != nil {
		digest.Remove(nextLine(d))
	}
}

func desiredLine(d *api.Desired) listdigest.Line {
	return digestLine(d.Attempt, d.Instance, strconv.FormatInt(d.Version, 10)+d.Program, d.SuspensionID)
}

func nextLine(d *api.Desired) listdigest.Line {
	return digestLine(d.Next.Attempt, d.Instance, listdigest.Next, 0)
}

func reportedLine(i *api.SyncInstance) listdigest.Line {
	return digestLine(i.Attempt, i.Instance, i.State, i.SuspensionID)
}

func digestLine(id api.AttemptID, instance int, word string, suspension int64) listdigest.Line {
	return listdigest.Line{Job: id.Job, Instance: instance, Item: id.Item, Number: id.Number, Word: word,
		Suspension: suspension}
}
