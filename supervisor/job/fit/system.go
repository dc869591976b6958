package fit

import (
	"fmt"
	"iter"
	"slices"

	"qb/internal/pathmap"
	"qb/supervisor/job/facts"
)

// A job has the paths and programs of one family of systems. A host of the other family can run it only if all paths
// of the job are mapped there: a program would not find its files, or write its pictures under a name like P:\out.exr
// into a folder of the host.

// Bounds of the search for a job's paths, which is made for each submission and each job that a supervisor loads. A
// command with more paths has them in few folders.
const (
	maxPaths   = 256 // that are looked at
	maxForeign = 64  // of them, that hosts must map
)

// foreign is what a host of the other family must map itself.
type foreign struct {
	family facts.Family  // of the job; "": it may run anywhere
	some   bool          // the job has a map for such hosts
	paths  []foreignPath // of the job that its own map does not know
}

// foreignPath is a path to the end of its text, and the variable whose value has it.
type foreignPath struct{ path, variable string }

// String names the path. The value of a variable is for the owner's eyes alone, and reasons are for all.
func (p foreignPath) String() string {
	if p.variable != "" {
		return "a path in the variable " + pathmap.Brief(p.variable)
	}
	return pathmap.Brief(p.path)
}

// readForeign finds the paths of a job that its own path map does not know on hosts of the other family.
func readForeign(row *facts.JobFacts) (f foreign) {
	f.family = facts.FamilyOf(row.System)
	if f.family == "" {
		return f
	}
	own := mapOf(pathmap.ForHost(f.family != facts.FamilyWindows, row.PathMap))
	f.some = !own.Empty()
	f.paths = unmapped(row, f.family, own)
	return f
}

// mapOf is the map of entries that were checked before. It maps nothing if one of them cannot be read.
func mapOf(entries []string) pathmap.Map {
	m, err := pathmap.New(entries)
	if err != nil {
		return pathmap.Map{}
	}
	return m
}

// unmapped lists the paths of a job that begin at a root of the family's systems and that its own map does not know.
func unmapped(row *facts.JobFacts, family facts.Family, own pathmap.Map) (paths []foreignPath) {
	looked := 0
	for variable, text := range row.TextsWithPaths() {
		for path := range pathmap.Roots(text, family == facts.FamilyWindows) {
			if looked++; looked > maxPaths || len(paths) >= maxForeign {
				return paths
			}
			if !own.Knows(path) {
				paths = append(paths, foreignPath{path, variable})
			}
		}
	}
	return paths
}

// Take takes over what a worker says of its host.
func (h *Host) Take(row facts.HostFacts) {
	text := row.Properties[pathmap.HostProperty]
	if text != h.Properties[pathmap.HostProperty] || h.paths.Empty() {
		entries, _ := facts.AttributeNamed("pathmap").Split(text) // what cannot be read maps nothing
		h.paths = mapOf(entries)
	}
	h.HostFacts = row
}

// mapping is what of a host decides for which systems' jobs it is, as far as paths go.
type mapping struct {
	family facts.Family
	paths  string
}

func (h *Host) mapping() mapping { return mapping{h.family(), h.Properties[pathmap.HostProperty]} }

func (h *Host) family() facts.Family { return facts.FamilyOf(h.Properties["os"]) }

// refusesSystem says why a host of the other family does not serve the job.
func (j *Job) refusesSystem(h *Host) Refusal {
	family := h.family()
	if j.foreign.family == "" || family == "" || family == j.foreign.family {
		return Refusal{}
	}
	r := Refusal{Kind: facts.ReasonSystem, Have: Value{Text: h.Properties["os"]}, Want: Value{Text: j.System}}
	converts := slices.Contains(j.Flags, facts.FlagConvertPath)
	for _, p := range j.foreign.paths {
		if !converts || !h.paths.Knows(p.path) {
			r.Name = p.String()
			return r
		}
	}
	if !j.foreign.some && !(converts && !h.paths.Empty()) {
		return r
	}
	return Refusal{}
}

// systemText says what a host of the other family lacks. Its way out is the same for all such hosts.
func (r Refusal) systemText() string {
	text := fmt.Sprintf("the job is for %s%s", r.Want.Text, r.had(" and the host runs "+r.Have.Text))
	if r.Name == "" {
		return text + "; -system any lets it run there"
	}
	return fmt.Sprintf("%s, where no path map has %s; give -pathmap, or -flags convert_path where worker_path_map has it, or -system any",
		text, r.Name)
}

// PathRemarks warn of paths of Windows in a job that hosts of Linux may run as it is: it is for them, or for hosts of
// all systems. A job for Windows waits for a host instead.
func (j *Job) PathRemarks(hosts iter.Seq[*Host]) []string {
	if facts.FamilyOf(j.System) == facts.FamilyWindows {
		return nil
	}
	paths := unmapped(j.JobFacts, facts.FamilyWindows, mapOf(pathmap.ForHost(false, j.PathMap)))
	if len(paths) == 0 {
		return nil
	}
	converts, some := slices.Contains(j.Flags, facts.FlagConvertPath), false
	for h := range hosts {
		if h.family() == facts.FamilyWindows {
			return nil
		}
		some = true
		if converts && len(paths) > 0 {
			paths = slices.DeleteFunc(paths, func(p foreignPath) bool { return h.paths.Knows(p.path) })
		}
	}
	if !some || len(paths) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: no path map has this path of Windows, and no host runs Windows; give -pathmap P:=/mnt/p, or -flags convert_path where worker_path_map has it",
		paths[0])}
}
