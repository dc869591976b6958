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

// maxForeign is how many paths of a job are looked at. A command with more of them has them in few folders.
const maxForeign = 64

// foreign is what a host of the other family must map itself.
type foreign struct {
	family facts.Family // of the job; "": it may run anywhere
	some   bool         // the job has a map for such hosts
	paths  []string     // of the job that its own map does not know
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

// unmapped lists the paths of a job that begin at a root of the family's systems and that none of the maps knows.
func unmapped(row *facts.JobFacts, family facts.Family, maps ...pathmap.Map) (paths []string) {
	for text := range row.TextsWithPaths() {
		pathmap.Roots(text, family == facts.FamilyWindows, func(path string) {
			known := slices.ContainsFunc(maps, func(m pathmap.Map) bool { return m.Knows(path) })
			if !known && len(paths) < maxForeign {
				paths = append(paths, path)
			}
		})
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

// samePaths says whether two hosts serve the same jobs as far as their systems and path maps go.
func (h *Host) samePaths(o *Host) bool {
	return h.family() == o.family() && h.Properties[pathmap.HostProperty] == o.Properties[pathmap.HostProperty]
}

func (h *Host) family() facts.Family { return facts.FamilyOf(h.Properties["os"]) }

// refusesSystem says why a host of the other family does not serve the job.
func (j *Job) refusesSystem(h *Host) Refusal {
	family := h.family()
	if j.foreign.family == "" || family == "" || family == j.foreign.family {
		return Refusal{}
	}
	r := Refusal{Kind: facts.ReasonSystem, Have: Value{Text: h.Properties["os"]}, Want: Value{Text: j.System}}
	converts := slices.Contains(j.Flags, facts.FlagConvertPath)
	for _, path := range j.foreign.paths {
		if !converts || !h.paths.Knows(path) {
			r.Name = pathmap.Brief(path)
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

// PathRemarks warn of paths that the job's hosts cannot have, where the job may run on hosts of all systems, or of
// paths of a person's Mac. Elsewhere the job waits for a host that has them.
func (j *Job) PathRemarks(hosts iter.Seq[*Host]) (remarks []string) {
	if facts.FamilyOf(j.System) != "" {
		return nil
	}
	maps := []pathmap.Map{mapOf(pathmap.ForHost(false, j.PathMap))}
	if unmapped(j.JobFacts, facts.FamilyWindows, maps...) == nil {
		return nil
	}
	converts := slices.Contains(j.Flags, facts.FlagConvertPath)
	some := false
	for h := range hosts {
		if h.family() == facts.FamilyWindows {
			return nil
		}
		some = true
		if converts {
			maps = append(maps, h.paths)
		}
	}
	paths := unmapped(j.JobFacts, facts.FamilyWindows, maps...)
	if !some || len(paths) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s is a path of Windows that no path map has, and no host runs Windows; give -pathmap P:=/mnt/p, or -flags convert_path where worker_path_map has it",
		pathmap.Brief(paths[0]))}
}
