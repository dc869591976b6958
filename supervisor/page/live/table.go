package live

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// JobColumns and HostColumns name the members of a row, in order, its key first. Times are seconds since 1970, 0 for
// none; memory of hosts is in MiB. The last is slow: it is looked at now and then only, as a sentence that counts down
// changes all the time.
var (
	JobColumns = []string{
		"id", "name", "user", "status", "priority", "cluster", "account", "cpus", "max_cpus", "primary", "secondary",
		"draining",
		"total", "pending", "running", "complete", "failed", "killed", "blocked", "submitted", "started", "finished", "mean",
		"estimated", "need", "peak", "version", "failed_attempts", "code", "reason",
	}
	HostColumns = []string{"name", "state", "slots", "used", "memory", "available", "promised", "cluster", "groups",
		"resources", "locked_by", "seen", "code", "remark", "avoidances"}
)

// table is the rows of the last look, and what led to them.
type table[K cmp.Ordered] struct {
	event   string
	columns []string // without the key
	pack    func(to []byte, keys []K) []byte
	rows    map[K]row
	seq     uint64 // rises when a row changes
	delta   *Message
	full    *Message // nil: not asked for yet
	size    int      // of all cells of the last look
}

// news is a row with the set of its cells that are sent.
type news[K cmp.Ordered] struct {
	key   K
	cells uint32 // a bit for each
}

const allCells = ^uint32(0)

// change takes a new look at so many rows; of writes the cells of one and has its key. slowly says whether what is slow
// counts.
func (t *table[K]) change(count int, slowly bool, of func(n int, w *writer) K) (changed bool) {
	w := &writer{buffer: make([]byte, 0, t.size+t.size/8), offsets: make([]uint32, 0, count*len(t.columns))}
	rows := make(map[K]row, count)
	var told []news[K]
	for n := range count {
		w.begin()
		key := of(n, w)
		is := w.row()
		was, known := t.rows[key]
		if cells := t.differences(was, is, known, slowly); cells != 0 {
			told = append(told, news[K]{key, cells})
		} else {
			is = w.again(was)
		}
		rows[key] = is
	}
	gone := []K{}
	for key := range t.rows {
		if _, here := rows[key]; !here {
			gone = append(gone, key)
		}
	}
	t.rows, t.size = rows, len(w.buffer)
	if len(told)+len(gone) == 0 && t.seq != 0 {
		return false
	}
	slices.Sort(gone)
	t.seq++
	t.full = nil
	t.delta = t.message(told, gone, false)
	return true
}

// again writes the present row as it was, so that nothing refers to the buffers of an earlier look.
func (w *writer) again(was row) row {
	w.buffer = append(w.buffer[:w.first], was.text...)
	copy(w.offsets[w.cells:], was.ends)
	return w.row()
}

// differences are the cells to tell of a row.
func (t *table[K]) differences(was, is row, known, slowly bool) (cells uint32) {
	if !known {
		return allCells
	}
	slow := len(t.columns) - 1
	for n := range t.columns {
		if !bytes.Equal(was.cell(n), is.cell(n)) {
			cells |= 1 << n
		}
	}
	if cells == 1<<slow && !slowly {
		return 0
	}
	return cells
}

// message has columns: of each that differs, the cells of these rows, null where they are as before.
func (t *table[K]) message(told []news[K], gone []K, full bool) *Message {
	slices.SortFunc(told, func(a, b news[K]) int { return cmp.Compare(a.key, b.key) })
	keys, any := make([]K, len(told)), uint32(0)
	for n, row := range told {
		keys[n] = row.key
		any |= row.cells
	}
	header, _ := json.Marshal(gone) // keys always encode
	text := slices.Concat([]byte(`{"full":`+strconv.FormatBool(full)+`,"gone":`), header, []byte(`,"keys":[`))
	text = append(t.pack(text, keys), `],"columns":{`...)
	first := true
	for c, name := range t.columns {
		if any&(1<<c) == 0 {
			continue
		}
		if !first {
			text = append(text, ',')
		}
		first = false
		text = append(append(append(text, '"'), name...), `":[`...)
		for n, row := range told {
			if n > 0 {
				text = append(text, ',')
			}
			if row.cells&(1<<c) == 0 {
				text = append(text, "null"...)
			} else {
				text = append(text, t.rows[row.key].cell(c)...)
			}
		}
		text = append(text, ']')
	}
	return newMessage(t.event, append(text, "}}"...))
}

// since is the message for a reader who has seen up to a number; nil if that is all.
func (t *table[K]) since(seen uint64) *Message {
	switch {
	case seen == t.seq:
		return nil
	case seen != 0 && seen+1 == t.seq:
		return t.delta
	}
	if t.full == nil {
		all := make([]news[K], 0, len(t.rows))
		for key := range t.rows {
			all = append(all, news[K]{key, allCells})
		}
		t.full = t.message(all, []K{}, true)
	}
	return t.full
}

func jobRow(j *facts.JobView, w *writer) facts.JobID {
	i := j.Items
	w.texts(j.Name, j.User, j.Status)
	w.numbers(j.Priority)
	w.texts(j.Cluster, j.Account)
	w.numbers(j.CPUs, j.MaxCPUsEffective, j.Primary, j.Secondary, j.Draining, i.Total, i.Pending, i.Running, i.Complete,
		i.Failed, i.Killed, i.Blocked)
	w.times(j.SubmittedAt, j.StartedAt, j.FinishedAt)
	w.tenths(j.MeanItemSeconds, j.EstimatedItemSeconds)
	w.large(j.Memory.Need, j.Memory.LargestPeak, j.Version)
	w.numbers(j.FailedAttempts)
	w.texts(string(j.Code), j.Reason)
	return j.ID
}

// hostRow leaves out what changes with each sync: when a host that answers was heard, and its memory to the last byte.
// What runs there is in the slot map.
func hostRow(h *message.HostView, w *writer) facts.HostID {
	step := max(1, h.Memory/32)
	resources := ""
	for _, name := range slices.Sorted(maps.Keys(h.Resources)) {
		resources += "," + name + "=" + strconv.Itoa(h.Resources[name])
	}
	w.texts(h.State)
	w.numbers(h.Slots, h.Used)
	w.large(h.Memory>>20, h.Available/step*step>>20, h.Promised>>20)
	w.texts(h.Cluster, strings.Join(h.Groups, ","), strings.TrimPrefix(resources, ","), h.LockedBy)
	if h.State != "up" && h.State != "locked" {
		w.times(h.SeenAt)
	} else {
		w.numbers(0)
	}
	w.texts(string(h.Code), h.Remark)
	w.numbers(len(h.Avoided))
	return h.ID
}
