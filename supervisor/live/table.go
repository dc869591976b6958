package live

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"qb/supervisor/facts"
	"qb/supervisor/message"
)

// JobColumns and HostColumns name the members of a row, in order. Times are seconds since 1970, 0 for none; memory of hosts is in
// MiB.
var (
	JobColumns = []string{
		"id", "name", "user", "status", "priority", "cluster", "account", "cpus", "max_cpus", "primary", "secondary", "draining",
		"total", "pending", "running", "complete", "failed", "killed", "blocked", "submitted", "started", "finished", "mean", "estimated", "need", "peak", "version", "code", "reason",
	}
	HostColumns = []string{"name", "state", "slots", "used", "memory", "available", "promised", "cluster", "groups", "resources", "jobs", "locked_by", "seen", "remark"}
)

// row is encoded; what is slow is looked at now and then only: a sentence that counts down changes all the time.
type row struct{ quick, slow []byte }

// table is the rows of the last look, and what led to them.
type table[K cmp.Ordered] struct {
	event string
	rows  map[K]row
	seq   uint64 // rises when a row changes
	delta *Message
	full  *Message // nil: not asked for yet
}

// change takes the rows of a new look; slowly says whether what is slow counts.
func (t *table[K]) change(rows map[K]row, slowly bool) (changed bool) {
	var news []K
	for key, is := range rows {
		was, known := t.rows[key]
		if known && bytes.Equal(was.quick, is.quick) && (!slowly || bytes.Equal(was.slow, is.slow)) {
			rows[key] = was
			continue
		}
		news = append(news, key)
	}
	gone := []K{}
	for key := range t.rows {
		if _, here := rows[key]; !here {
			gone = append(gone, key)
		}
	}
	t.rows = rows
	if len(news)+len(gone) == 0 && t.seq != 0 {
		return false
	}
	slices.Sort(gone)
	t.seq++
	t.full = nil
	t.delta = t.message(news, gone, false)
	return true
}

// message has some rows, or all.
func (t *table[K]) message(keys []K, gone []K, full bool) *Message {
	slices.Sort(keys)
	var text bytes.Buffer
	header, _ := json.Marshal(gone) // keys always encode
	text.WriteString(`{"full":` + strconv.FormatBool(full) + `,"gone":` + string(header) + `,"rows":[`)
	for n, key := range keys {
		if n > 0 {
			text.WriteByte(',')
		}
		r := t.rows[key]
		text.WriteByte('[')
		text.Write(r.quick)
		text.WriteByte(',')
		text.Write(r.slow)
		text.WriteByte(']')
	}
	text.WriteString("]}")
	return newMessage(t.event, text.Bytes())
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
		t.full = t.message(slices.Collect(maps.Keys(t.rows)), []K{}, true)
	}
	return t.full
}

// encode is the members of a row without the brackets.
func encode(members ...any) []byte {
	data, err := json.Marshal(members)
	if err != nil {
		panic("encoding a row: " + err.Error()) // numbers and texts always encode
	}
	return data[1 : len(data)-1]
}

func jobRows(v *message.View) map[facts.JobID]row {
	rows := make(map[facts.JobID]row, len(v.Jobs))
	for n := range v.Jobs {
		j := &v.Jobs[n]
		i := j.Items
		rows[j.ID] = row{
			quick: encode(j.ID, j.Name, j.User, j.Status, j.Priority, j.Cluster, j.Account, j.CPUs, j.MaxCPUsEffective, j.Primary, j.Secondary, j.Draining,
				i.Total, i.Pending, i.Running, i.Complete, i.Failed, i.Killed, i.Blocked, seconds(j.SubmittedAt), seconds(j.StartedAt), seconds(j.FinishedAt),
				tenths(j.MeanItemSeconds), tenths(j.EstimatedItemSeconds), j.Memory.Need, j.Memory.LargestPeak, j.Version, j.Code),
			slow: encode(j.Reason),
		}
	}
	return rows
}

// hostRows leaves out what changes with each sync: when a host that answers was heard, and its memory to the last byte.
func hostRows(v *message.View) map[facts.HostID]row {
	rows := make(map[facts.HostID]row, len(v.Hosts))
	for n := range v.Hosts {
		h := &v.Hosts[n]
		var seen int64
		if h.State != "up" && h.State != "locked" {
			seen = seconds(h.SeenAt)
		}
		step := max(1, h.Memory/32)
		var resources []string
		for _, name := range slices.Sorted(maps.Keys(h.Resources)) {
			resources = append(resources, name+"="+strconv.Itoa(h.Resources[name]))
		}
		jobs := make([]facts.JobID, 0, len(h.Instances))
		for _, i := range h.Instances {
			jobs = append(jobs, i.Job)
		}
		slices.Sort(jobs)
		rows[h.ID] = row{
			quick: encode(h.ID, h.State, h.Slots, h.Used, h.Memory>>20, h.Available/step*step>>20, h.Promised>>20, h.Cluster, strings.Join(h.Groups, ","), strings.Join(resources, ","),
				slices.Compact(jobs), h.LockedBy, seen),
			slow: encode(h.Remark),
		}
	}
	return rows
}

func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func tenths(seconds float64) float64 { return float64(int64(seconds*10+0.5)) / 10 }
