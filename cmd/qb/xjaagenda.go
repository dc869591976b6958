package main

import (
	"slices"
	"strconv"
	"strings"

	"qb/agenda"
	"qb/api"
)

// giveXJAAgenda takes the range of the package, or the names of the items with the division that makes them. It remarks
// if there is none.
func giveXJAAgenda(r *api.SubmitRequest, job *xmlNode, pack map[string]string) (remarks []string) {
	r.Range = pack["range"]
	for name, to := range map[string]*int{"rangeChunkSize": &r.Chunk, "padding": &r.Padding} {
		if n, err := strconv.Atoi(pack[name]); err == nil && n > 1 {
			*to = n
		}
	}
	names := job.child("agenda").list()
	whole := strings.Join(names, ",")
	if len(names) == 0 || r.Range != "" && r.Chunk > 1 || len(r.Range)+len(whole) > maxArchive {
		return nil
	}
	if r.Range != "" && itemNames(agenda.Spec{Range: r.Range, Chunk: len(whole)}) != itemNames(agenda.Spec{Range: whole,
		Chunk: len(whole)}) {
		return nil // the agenda is a part
	}
	r.Range = whole
	var want []string
	for _, name := range names {
		want = append(want, itemNames(agenda.Spec{Range: name, Partitions: 1}))
	}
	first, err := agenda.Parse(agenda.Spec{Range: names[0]}, 0)
	if err != nil {
		return nil // which the farm refuses
	}
	for _, division := range []agenda.Spec{{Chunk: first.Len()}, {Partitions: len(names)}} {
		division.Range = whole
		if itemNames(division) != strings.Join(want, "\n") {
			continue
		}
		if division.Chunk != 1 {
			r.Chunk, r.Partitions = division.Chunk, division.Partitions
		}
		return nil
	}
	return []string{"agenda: no -chunk and no -partitions make the items of the file, such as " +
		strconv.Quote(oddItem(want)) + "; each number is an item of its own"}
}

// oddItem is an item of several numbers, if there is one.
func oddItem(names []string) string {
	return names[max(0, slices.IndexFunc(names,
		func(name string) bool { return strings.ContainsAny(strings.TrimPrefix(name, "-"), "-,") }))]
}

// itemNames are the names of the items that a division makes, a line for each.
func itemNames(spec agenda.Spec) string {
	a, err := agenda.Parse(spec, maxXMLNodes)
	if err != nil {
		return ""
	}
	var text strings.Builder
	for n := range a.Len() {
		if n > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(a.Item(n).Name)
	}
	return text.String()
}
