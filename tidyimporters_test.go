package qb_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// ofOne says of each package that only one other imports, and that is neither pure nor the one home of a library, what it has
// that its importer could not have.
var ofOne = map[string]string{
	"cmd/qb/service":   "it links supervisor and worker, which the client build leaves out",
	"openjd/session":   "the program of a farm's items will run by it, too",
	"migrations":       "SQL, which people read where it lies",
	"supervisor/doors": "entrances beside the endpoints, by which the supervisor is called but never the other way round",

	"supervisor/lead/term":       "the simulator leads with it, without HTTP",
	"supervisor/store/pgcluster": "tests of other packages start their Postgres by it",

	// The tests of supervisor/serve need Postgres, and these do not.
	"supervisor/access/osusers":   "a test without Postgres",
	"supervisor/page":             "a test without Postgres",
	"supervisor/page/eventstream": "a test without Postgres",
	"supervisor/page/live":        "a test without Postgres",
	"supervisor/page/web":         "a test without Postgres, and the page's files",
	"supervisor/page/whatif":      "a test without Postgres",
	"supervisor/wire/lists":       "tests of commands read by it what options ask for",
}

// TestPackagesOfOne: a package that one other imports is a file of that one, unless it has a rule of its own.
func TestPackagesOfOne(t *testing.T) {
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range packagesOfOne(all, ofOne) {
		t.Error(complaint)
	}
}

func packagesOfOne(all []source, listed map[string]string) (bad []string) {
	importers := map[string]map[string]bool{} // by package; those of tests do not count
	for _, s := range all {
		if s.test {
			continue
		}
		for _, imported := range s.imports() {
			if ours, ok := strings.CutPrefix(imported, "qb/"); ok {
				if importers[ours] == nil {
					importers[ours] = map[string]bool{}
				}
				importers[ours][s.pkg] = true
			}
		}
	}
	hasRule := func(pkg string) bool {
		for _, places := range homes {
			if len(places) == 1 && places[0] == pkg {
				return true
			}
		}
		return slices.Contains(pure, pkg)
	}
	for _, pkg := range slices.Sorted(maps.Keys(importers)) {
		if len(importers[pkg]) == 1 && !hasRule(pkg) && listed[pkg] == "" {
			by := slices.Collect(maps.Keys(importers[pkg]))[0]
			bad = append(bad, fmt.Sprintf("%s has one importer, %s, and no rule of its own: make its files some of that one's, or say in ofOne what it has", pkg, by))
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(listed)) {
		if len(importers[pkg]) != 1 || hasRule(pkg) {
			bad = append(bad, fmt.Sprintf("%s needs no place in ofOne: %d others import it, or it is pure or a library's home", pkg, len(importers[pkg])))
		}
	}
	return bad
}

// TestPackagesOfOneBites shows the rule packages that it must refuse.
func TestPackagesOfOneBites(t *testing.T) {
	var all []source
	for name, text := range map[string]string{
		"cmd/a/a.go":      `package a; import ("qb/cmd/lonely"; "qb/cmd/shared"; "qb/cmd/told"; "qb/agenda")`,
		"cmd/b/b.go":      `package b; import ("qb/cmd/shared"; "qb/cmd/none")`,
		"cmd/b/b_test.go": `package b; import "qb/cmd/lonely"`,
	} {
		s, err := parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	got := packagesOfOne(all, map[string]string{"cmd/told": "a reason", "cmd/none": "a reason", "cmd/shared": "a reason"})
	if len(got) != 2 || !strings.HasPrefix(got[0], "cmd/lonely has one") || !strings.HasPrefix(got[1], "cmd/shared needs no place") {
		t.Errorf("%q", got)
	}
}
