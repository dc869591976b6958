package central

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"qb/api"
)

// groupsKey is the setting by which a host gets groups.
const groupsKey = "worker_groups"

// Section is what one section sets, by key.
type Section map[string]json.RawMessage

// Sections is a file.
type Sections struct {
	File    string
	Default Section
	Groups  map[string]Section
	Hosts   map[string]Section
}

// For is what the file sets for a host, and the section that each value is from. Groups are the groups of the host
// in its own configuration; the file may give it others.
func (s *Sections) For(host string, groups []string) (values Section, from map[string]string) {
	values, from = Section{}, map[string]string{}
	if s == nil {
		return values, from
	}
	take := func(name string, section Section) {
		for key, value := range section {
			values[key], from[key] = value, name
		}
	}
	take("default", s.Default)
	own := s.Hosts[host]
	for _, section := range []Section{s.Default, own} {
		var given []string
		if text, ok := section[groupsKey]; ok && json.Unmarshal(text, &given) == nil {
			groups = given
		}
	}
	for _, name := range slices.Sorted(slices.Values(groups)) {
		take("group."+name, s.Groups[name])
	}
	take("host."+host, own)
	return values, from
}

// Central is the same as a worker gets it.
func (s *Sections) Central(host string, groups []string) *api.Central {
	values, _ := s.For(host, groups)
	c := &api.Central{Values: values}
	if len(values) > 0 {
		text, _ := json.Marshal(values) // keys in order
		sum := sha256.Sum256(text)
		c.Version = hex.EncodeToString(sum[:8])
	}
	return c
}

// most is of how many hosts the settings are remembered.
const most = 20_000

// Workers are the file in force, nil if there is none, and what workers say of their settings.
type Workers struct {
	File atomic.Pointer[Sections]

	mu    sync.Mutex
	hosts map[string]Report
}

// Configure adds to the answer of a sync what the file sets for the worker, if the worker has not taken it, and whether
// it is to start again.
func (w *Workers) Configure(now time.Time, in *api.Sync, reply *api.SyncReply) {
	if r, known := w.hear(in); known {
		if now.Before(r.until) {
			reply.Restart = r.restart
		}
		if c := w.File.Load().Central(in.Host, r.Groups); c.Version != in.Central {
			reply.Central = c
		}
	}
}

// Show is the configuration of a host as it and the file say; false if it has said nothing. takenIn is the incarnation
// by which the farm goes, and all listings with it. A new process is known here as soon as it has greeted: until the
// farm takes it in, the host is restarting.
func (w *Workers) Show(now time.Time, host, takenIn string) (api.HostSettings, bool) {
	w.mu.Lock()
	report, known := w.hosts[host]
	w.mu.Unlock()
	show := w.File.Load().Show(host, report)
	show.Incarnation, show.RestartError = takenIn, report.restartError
	show.Restarting = report.incarnation != takenIn || report.restart != "" && now.Before(report.until)
	return show, known
}

// Report is what one says.
type Report struct {
	Groups   []string // by its own configuration
	Central  string   // the version that it has taken
	Error    string
	Settings []api.Setting

	incarnation  string    // of its process
	restart      string    // id of the order to start again; empty: there is none
	until        time.Time // it is given
	restartError string    // why the last one was not carried out
}

// restartWithin is how long a worker is asked to start again, so that a worker that is heard much later does not do it
// by surprise.
const restartWithin = time.Minute

// Restart has a worker start again, if it is heard soon. The order is in memory alone: it is about the process that is
// there now, and is carried out at most once, as the next one has another id.
func (w *Workers) Restart(now time.Time, host string) (reply api.RestartReply, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, known := w.hosts[host]
	if known {
		r.restart = rand.Text()
		r.until = now.Add(restartWithin)
		r.restartError = ""
		w.hosts[host] = r
	}
	return api.RestartReply{Host: host, Incarnation: r.incarnation, WaitSeconds: restartWithin.Seconds()}, known
}

// restarted takes in what a worker says of being started again.
func (r *Report) restarted(s *api.Sync) {
	switch {
	case s.Incarnation != r.incarnation: // it has, or another has its place
		r.incarnation = s.Incarnation
		r.restart = ""
		r.restartError = ""
	case r.restart != "" && s.RestartOrder == r.restart:
		r.restart, r.restartError = "", s.RestartError
	}
}

// hear takes in a sync, and returns what is known of its worker. Settings come with the first syncs of a term, and when
// they change.
func (w *Workers) hear(s *api.Sync) (r Report, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hosts == nil {
		w.hosts = map[string]Report{}
	}
	r, known = w.hosts[s.Host]
	switch {
	case len(s.Settings) > 0 && (known || len(w.hosts) < most):
		r.Groups = s.OwnGroups
		r.Settings = s.Settings
		known = true
	case !known:
		return r, false
	}
	r.Central, r.Error = s.Central, s.CentralError
	r.restarted(s)
	w.hosts[s.Host] = r
	return r, true
}

// Show is the configuration of a host as it and the file say.
func (s *Sections) Show(host string, r Report) api.HostSettings {
	values, from := s.For(host, r.Groups)
	show := api.HostSettings{Host: host, Settings: []api.Setting{}, Ignored: []api.Setting{}, Error: r.Error,
		Pending: s.Central(host, r.Groups).Version != r.Central}
	if s != nil {
		show.File = s.File
	}
	for _, one := range r.Settings {
		if one.Origin == "central" {
			one.Origin = from[one.Key]
		} else if value, set := values[one.Key]; set && one.Origin == "own" {
			show.Ignored = append(show.Ignored, api.Setting{Key: one.Key, Value: string(value), Origin: from[one.Key]})
		}
		show.Settings = append(show.Settings, one)
	}
	return show
}

// Same says whether two files set the same.
func (s *Sections) Same(o *Sections) bool {
	if s == nil || o == nil {
		return s == o
	}
	same := func(a, b Section) bool { return maps.EqualFunc(a, b, slices.Equal[json.RawMessage]) }
	return s.File == o.File && same(s.Default, o.Default) && maps.EqualFunc(s.Groups, o.Groups, same) &&
		maps.EqualFunc(s.Hosts, o.Hosts, same)
}
