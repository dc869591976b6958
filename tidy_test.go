// Package qb_test holds the tree to its own rules: which package may know which, how long a function may
// grow, and which words we use. ARCHITECTURE.md says why; this file says so at each change.
package qb_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
)

const (
	maxFuncLines = 70
	maxKept      = 320 << 10 // bytes of a file in git
	maxFileLines = 500

	maxPackageFiles, maxPackageLines = 40, 6000 // without tests

	maxFarmMethods, maxFarmFields = 140, 22
)

// floors: a package imports only packages of lower floors, so never one beside it.
var floors = map[string]int{
	"cmd/qb": 11, "cmd/qb/service": 10, "cmd/qb/find": 8,
	"cmd/qb/bench": 6, "sim": 8, "sim/crash": 8, "sim/netns": 7, "sim/replica": 0,
	"supervisor": 9, "supervisor/settings": 5, "worker": 5,
	"supervisor/problem":        5,
	"supervisor/metrics":        5,
	"supervisor/translate":      6,
	"supervisor/credentials":    7,
	"supervisor/gate":           8,
	"supervisor/endsaudit":      2,
	"supervisor/selfaudit":      4,
	"supervisor/agendas":        6,
	"supervisor/eventstream":    7,
	"supervisor/live":           7,
	"supervisor/whatif":         7,
	"supervisor/slotmap":        5,
	"supervisor/timeline":       5,
	"supervisor/logsearch":      3,
	"supervisor/itemvalues":     7,
	"supervisor/rowlist":        6,
	"supervisor/jobfilter":      7,
	"supervisor/limits":         6,
	"cmd/qb/manpages":           5,
	"supervisor/term":           6,
	"supervisor/audit":          7,
	"supervisor/reads":          7,
	"supervisor/readcache":      4,
	"cmd/qb/config":             6,
	"cmd/qb/offline":            6,
	"cmd/qb/commandline":        5,
	"cmd/qb/jobtext":            2,
	"cmd/qb/output":             2,
	"cmd/qb/qube":               0,
	"cmd/qb/watch":              6,
	"cmd/qb/people":             7,
	"cmd/qb/remote":             6,
	"cmd/qb/jobselect":          7,
	"cmd/qb/hostselect":         7,
	"cmd/qb/shares":             7,
	"cmd/qb/archive":            7,
	"cmd/qb/joborder":           7,
	"cmd/qb/profiles":           7,
	"cmd/qb/licences":           7,
	"cmd/qb/hostsettings":       7,
	"cmd/qb/summary":            7,
	"cmd/qb/whatif":             7,
	"cmd/qb/tree":               7,
	"cmd/qb/complete":           6,
	"supervisor/store/postgres": 4, "supervisor/store/storetest": 4, "supervisor/web": 4, "supervisor/pgcluster": 4, "examples/demo": 4, "worker/shim": 4,
	"supervisor/farm": 6, "supervisor/model": 5, "supervisor/message": 4, "supervisor/explain": 3, "worker/core": 3, "supervisor/store/rules": 3,
	"supervisor/planner": 2, "supervisor/fit": 2, "supervisor/store": 2, "supervisor/logstore": 2, "supervisor/termwatch": 3,
	"supervisor/items":      2,
	"supervisor/lastchange": 2,
	"supervisor/parts":      2,
	"supervisor/culprit":    2,
	"supervisor/quota":      3,
	"supervisor/agents":     3,
	"supervisor/accounting": 3,
	"supervisor/profiles":   3,
	"supervisor/licences":   2,
	"supervisor/central":    2,
	"supervisor/slottime":   1,
	"supervisor/bestfit":    3,
	"supervisor/outbox":     2,
	"supervisor/facts":      1,
	"supervisor/farmkey":    1,
	"api/pin":               0, "supervisor/certs": 1, "supervisor/listeners": 6,
	"worker/usage": 2, "smartshare/packing": 1, "api": 1, "worker/cgroup": 1, "worker/picture": 3,
	"units":       -1, // below all others
	"pathmap":     -1,
	"patterns":    -1,
	"pause":       -1,
	"limitwriter": -1,
	"guard":       0,
	"worker/proc": 0, "worker/people": 0, "agenda": 0, "smartshare": 0, "smartshare/fairshare": 0, "migrations": 0, "statedir": 0,
	"supervisor/history": 4,
	"supervisor/mail":    4,
	"supervisor/osusers": 3,
	"supervisor/sso":     6,
}

// onlyFrom narrows the floors: who is listed here may import nothing else of ours.
var onlyFrom = map[string][]string{
	"supervisor/mail":            {"pause", "statedir", "supervisor/facts", "supervisor/store"},
	"supervisor/history":         {"agenda", "pause", "supervisor/facts", "supervisor/logstore", "supervisor/store", "units"},
	"worker":                     {"agenda", "api", "api/pin", "limitwriter", "pathmap", "patterns", "pause", "statedir", "units", "worker/cgroup", "worker/core", "worker/people", "worker/picture", "worker/proc", "worker/shim", "worker/usage"},
	"worker/core":                {"api", "units"},
	"worker/picture":             {"api", "limitwriter", "pause", "worker/proc"},
	"examples/demo":              {"api"},
	"api":                        {"api/pin"},
	"supervisor/certs":           {"api/pin", "statedir"},
	"supervisor/listeners":       {"api", "supervisor/certs", "supervisor/facts", "supervisor/settings"},
	"supervisor/metrics":         {"api", "supervisor/accounting", "supervisor/agents", "supervisor/facts", "supervisor/mail", "supervisor/message", "supervisor/history", "supervisor/selfaudit"},
	"supervisor/translate":       {"supervisor/licences", "agenda", "api", "patterns", "supervisor/accounting", "supervisor/agents", "supervisor/facts", "supervisor/message", "supervisor/fit", "supervisor/outbox", "supervisor/profiles", "supervisor/planner", "supervisor/problem", "supervisor/settings", "supervisor/store", "units"},
	"supervisor/sso":             {"api", "statedir", "supervisor/facts", "supervisor/problem", "supervisor/settings"},
	"supervisor/limits":          {"agenda", "api", "supervisor/facts", "supervisor/message", "supervisor/problem", "supervisor/quota", "supervisor/settings", "supervisor/store", "units"},
	"supervisor/term":            {"guard", "supervisor/licences", "api", "pause", "supervisor/accounting", "supervisor/explain", "supervisor/facts", "supervisor/farmkey", "supervisor/lastchange", "supervisor/message", "supervisor/metrics", "supervisor/outbox", "supervisor/planner", "supervisor/problem", "supervisor/profiles", "supervisor/store", "supervisor/termwatch"},
	"supervisor/credentials":     {"api", "api/pin", "statedir", "supervisor/facts", "supervisor/farmkey", "supervisor/problem", "supervisor/settings", "supervisor/store", "supervisor/store/postgres", "supervisor/translate"},
	"supervisor/agendas":         {"agenda", "supervisor/facts", "supervisor/problem"},
	"supervisor/endsaudit":       {"api", "supervisor/facts"},
	"supervisor/selfaudit":       {"api", "pause", "supervisor/endsaudit", "supervisor/facts"},
	"supervisor/gate":            {"api", "supervisor/audit", "supervisor/credentials", "supervisor/facts", "supervisor/farmkey", "supervisor/limits", "supervisor/listeners", "supervisor/problem", "supervisor/reads", "supervisor/settings", "supervisor/store"},
	"supervisor/eventstream":     {"api", "supervisor/facts", "supervisor/message", "supervisor/translate"},
	"supervisor/live":            {"api", "supervisor/facts", "supervisor/message", "supervisor/translate"},
	"supervisor/slotmap":         {"api", "supervisor/message"},
	"supervisor/timeline":        {"api", "pause", "supervisor/facts", "supervisor/message"},
	"supervisor/logsearch":       {"api", "patterns", "supervisor/logstore"},
	"supervisor/itemvalues":      {"api", "supervisor/facts", "supervisor/translate"},
	"supervisor/rowlist":         {"agenda", "api", "supervisor/problem", "units"},
	"supervisor/jobfilter":       {"agenda", "api", "supervisor/facts", "supervisor/problem", "supervisor/rowlist", "supervisor/store", "units"},
	"supervisor/whatif":          {"api", "smartshare", "supervisor/explain", "supervisor/facts", "supervisor/message", "supervisor/planner", "supervisor/problem", "supervisor/translate"},
	"supervisor/problem":         {"api", "supervisor/store", "supervisor/store/postgres"},
	"supervisor/facts":           {"agenda", "pathmap", "patterns", "smartshare/fairshare", "units"},
	"supervisor/store":           {"supervisor/facts"},
	"supervisor/store/rules":     {"agenda", "supervisor/facts", "supervisor/store"},
	"supervisor/store/postgres":  {"guard", "agenda", "migrations", "pause", "supervisor/endsaudit", "supervisor/facts", "supervisor/store", "supervisor/store/rules"},
	"supervisor/store/storetest": {"supervisor/facts", "supervisor/store", "supervisor/store/rules"},
	"supervisor/farm":            {"supervisor/licences", "supervisor/culprit", "agenda", "smartshare", "smartshare/fairshare", "supervisor/explain", "supervisor/facts", "supervisor/fit", "supervisor/accounting", "supervisor/agents", "supervisor/items", "supervisor/message", "supervisor/model", "supervisor/outbox", "supervisor/profiles", "supervisor/planner", "supervisor/quota", "supervisor/bestfit", "supervisor/slottime", "units"},
	"supervisor/model":           {"supervisor/licences", "agenda", "smartshare/fairshare", "supervisor/accounting", "supervisor/agents", "supervisor/explain", "supervisor/facts", "supervisor/fit", "supervisor/items", "supervisor/message", "supervisor/outbox", "supervisor/planner", "supervisor/quota", "supervisor/slottime", "units"},
	"supervisor/message":         {"supervisor/licences", "agenda", "supervisor/accounting", "supervisor/agents", "supervisor/facts", "supervisor/fit", "supervisor/items", "supervisor/outbox", "supervisor/profiles", "supervisor/planner", "supervisor/quota", "supervisor/slottime", "units"},
	"supervisor/lastchange":      {"supervisor/facts"},
	"supervisor/agents":          {"supervisor/facts", "supervisor/outbox"},
	"supervisor/slottime":        {"smartshare"},
	"supervisor/bestfit":         {"smartshare", "supervisor/planner"},
	"supervisor/culprit":         {"supervisor/facts"},
	"supervisor/quota":           {"supervisor/facts", "supervisor/fit", "supervisor/outbox", "units"},
	"supervisor/items":           {"agenda", "smartshare", "supervisor/facts"},
	"supervisor/accounting":      {"smartshare/fairshare", "supervisor/facts", "supervisor/outbox", "units"},
	"supervisor/central":         {"api"},
	"supervisor/licences":        {"agenda", "supervisor/facts"},
	"supervisor/profiles":        {"supervisor/facts", "supervisor/outbox", "units"},
	"supervisor/outbox":          {"supervisor/facts"},
	"supervisor/fit":             {"agenda", "supervisor/facts", "units"},
	"supervisor/osusers":         {"supervisor/fit"},
	"supervisor/explain":         {"supervisor/licences", "agenda", "supervisor/facts", "supervisor/fit", "supervisor/planner", "units"},
	"supervisor/planner":         {"smartshare", "smartshare/packing", "supervisor/facts"},
}

// onlyBy: who is listed here may be imported by nobody else of ours.
var onlyBy = map[string]string{"supervisor/model": "supervisor/farm"}

// pure packages see no clock, no disk, no network and no chance: the same events give the same farm.
var pure = []string{"units", "pathmap", "patterns", "agenda", "smartshare", "smartshare/fairshare", "smartshare/packing", "supervisor/facts", "supervisor/fit", "supervisor/planner", "supervisor/slottime", "supervisor/bestfit", "supervisor/explain", "supervisor/farm", "supervisor/model", "supervisor/message", "supervisor/accounting", "supervisor/profiles", "supervisor/licences", "supervisor/items", "supervisor/agents", "supervisor/outbox", "supervisor/quota", "supervisor/culprit", "supervisor/lastchange", "supervisor/parts", "worker/core"}

// pureStd is arithmetic, text, collections and types; runtime/debug is for the stack of a panic.
var pureStd = []string{
	"bytes", "cmp", "container/heap", "container/list", "errors", "fmt", "hash/fnv", "iter", "maps", "math",
	"math/bits", "math/rand/v2", "reflect", "regexp", "regexp/syntax", "runtime/debug", "slices", "sort", "strconv", "strings",
	"time", "unicode", "unicode/utf16", "unicode/utf8",
}

// seeded are the parts of package math/rand/v2 that draw from a given seed alone.
var seeded = []string{"New", "NewPCG", "Rand"}

// worldlyTime are the parts of package time that read the clock or wait.
var worldlyTime = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local"}

// homes says where a library may be imported: a package, or a single file. Tests and files for other
// build tags are free. A library without a home is a violation, so that no dependency slips in.
var homes = map[string][]string{
	"github.com/jackc/pgx/v5":             {"supervisor/store/postgres", "supervisor/pgcluster"},
	"github.com/pressly/goose/v3":         {"supervisor/store/postgres"},
	"github.com/danielgtaylor/huma/v2":    {"supervisor/routes.go"},
	"github.com/go-chi/chi/v5":            {"supervisor/routes.go"},
	"github.com/go-chi/httprate":          {"supervisor/gate"},
	"github.com/prometheus/client_golang": {"supervisor/metrics"},
	"github.com/spf13/cobra":              {"cmd/qb", "cmd/qb/archive", "cmd/qb/bench", "cmd/qb/commandline", "cmd/qb/find", "cmd/qb/hostsettings", "cmd/qb/joborder", "cmd/qb/manpages", "cmd/qb/licences", "cmd/qb/people", "cmd/qb/profiles", "cmd/qb/remote", "cmd/qb/service", "cmd/qb/shares", "cmd/qb/summary", "cmd/qb/tree", "cmd/qb/whatif"},
	"github.com/spf13/pflag":              {"cmd/qb", "cmd/qb/commandline", "cmd/qb/output", "cmd/qb/jobselect", "cmd/qb/hostselect"},
	"github.com/BurntSushi/toml":          {"cmd/qb/config"},
	"charm.land/bubbletea/v2":             {"cmd/qb/watch"},
	"charm.land/lipgloss/v2":              {"cmd/qb", "cmd/qb/output", "cmd/qb/watch"},
	"github.com/shirou/gopsutil/v4":       {"worker"},
	"github.com/godbus/dbus/v5":           {"worker/people"},
	"golang.org/x/image":                  {"worker/picture"},
	"golang.org/x/sys":                    {"api", "worker", "worker/picture", "worker/people", "worker/cgroup", "worker/proc", "worker/shim", "supervisor/term", "supervisor/credentials", "supervisor/listeners", "supervisor/logstore", "supervisor/pgcluster", "cmd/qb", "cmd/qb/config", "cmd/qb/output"},
	"golang.org/x/time":                   {"supervisor/limits", "supervisor/mail", "supervisor/credentials", "supervisor/sso", "supervisor/audit", "supervisor/enrol.go", "supervisor/server.go", "supervisor/session.go"},
	"golang.org/x/oauth2":                 {"supervisor/sso"},
	"github.com/coreos/go-oidc/v3":        {"supervisor/sso"},
	"golang.org/x/sync":                   {"supervisor", "worker", "cmd/qb", "cmd/qb/bench"},
}

// banned words belong to other systems; the glossary in ARCHITECTURE.md has ours. Users' old scripts
// may say them to cmd/qb.
var banned = map[string]string{
	"task": "item, or the job's command", "frame": "item", "subjob": "instance", "node": "host", "cage": "control group",
}

// theirs are the places where a banned word is somebody else's name for something.
var theirs = regexp.MustCompile(`QB_[A-Z_]*FRAME|(?i)\b(log|stack|call)[ -]frames?\b`)

// meant are files in which a banned word is the right one: the unit of an item's log on disk and on the
// wire is a frame, and the graphs of smartshare, which knows no hosts, and JSON trees consist of nodes.
var meant = map[string]*regexp.Regexp{
	"frame": regexp.MustCompile(`^(api/sync|supervisor/logread|supervisor/logstore/(store|demux|size|doc)|worker/(shim/pump|logs?|ship))(_test)?\.go$`),
	"node":  regexp.MustCompile(`^smartshare/`),
}

// source is one parsed file.
type source struct {
	name, pkg string // path from the root, its folder
	file      *ast.File
	lines     int
	test      bool
}

var (
	fset    = token.NewFileSet()
	sources = sync.OnceValues(readTree)
)

func TestFloors(t *testing.T)    { check(t, brokenFloors) }
func TestPure(t *testing.T)      { check(t, impurities) }
func TestLibraries(t *testing.T) { check(t, strayLibraries) }
func TestSizes(t *testing.T)     { check(t, oversize) }
func TestWords(t *testing.T)     { check(t, bannedWords) }
func TestLeftovers(t *testing.T) { check(t, leftovers) }

// check reports every violation of one rule in the whole tree.
func check(t *testing.T, rule func(source) []string) {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, violation := range rule(s) {
			t.Error(violation)
		}
	}
}

// goFile finds the names of files in a package comment, from the package's folder or the root.
var goFile = regexp.MustCompile(`[\w/]+\.go\b`)

// TestPackageDocs: the first file to read in a package is doc.go, or the only one there is. It names files that exist,
// and ARCHITECTURE.md has a row for the package.
func TestPackageDocs(t *testing.T) {
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string][]source{}
	for _, s := range all {
		if !s.test {
			packages[s.pkg] = append(packages[s.pkg], s)
		}
	}
	architecture, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for pkg, files := range packages {
		isDoc := func(s source) bool {
			return s.file.Doc != nil && (path.Base(s.name) == "doc.go" || len(files) == 1)
		}
		n := slices.IndexFunc(files, isDoc)
		if n < 0 {
			t.Errorf("%s/doc.go: missing, or without a package comment", pkg)
			continue
		}
		for _, name := range goFile.FindAllString(files[n].file.Doc.Text(), -1) {
			_, errInPackage := os.Stat(path.Join(pkg, name))
			if _, errAtRoot := os.Stat(name); errInPackage != nil && errAtRoot != nil {
				t.Errorf("%s: no file %s", files[n].name, name)
			}
		}
		if floor, known := floors[pkg]; !known {
			t.Errorf("%s: a package without a floor; give it one in tidy_test.go and ARCHITECTURE.md", pkg)
		} else if row := fmt.Sprintf("| %d | `%s` |", floor, pkg); !strings.Contains(string(architecture), row) {
			t.Errorf("ARCHITECTURE.md: no row %s …", row)
		}
	}
}

// TestPackageSizes: a package stays small enough to be read as a whole.
func TestPackageSizes(t *testing.T) {
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range largePackages(all) {
		t.Error(complaint)
	}
}

func largePackages(all []source) (bad []string) {
	files, lines := map[string]int{}, map[string]int{}
	for _, s := range all {
		if !s.test {
			files[s.pkg]++
			lines[s.pkg] += s.lines
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(files)) {
		if files[pkg] > maxPackageFiles || lines[pkg] > maxPackageLines {
			bad = append(bad, fmt.Sprintf("%s: %d files and %d lines, more than %d and %d: divide the package", pkg, files[pkg], lines[pkg], maxPackageFiles, maxPackageLines))
		}
	}
	return bad
}

// TestFarmStaysSmall: what a part of the farm can do with its own state is the part's, and not the Farm's.
func TestFarmStaysSmall(t *testing.T) {
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	methods, fields := sizeOf(all, "supervisor/farm", "Farm")
	if methods == 0 || methods > maxFarmMethods || fields > maxFarmFields {
		t.Errorf("Farm has %d methods and %d fields, more than %d and %d: give a part what it needs alone", methods, fields, maxFarmMethods, maxFarmFields)
	}
}

// sizeOf counts the methods and the fields that a type has itself.
func sizeOf(all []source, pkg, name string) (methods, fields int) {
	for _, s := range all {
		if s.test || s.pkg != pkg {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") == name {
					methods++
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					t, ok := spec.(*ast.TypeSpec)
					if !ok || t.Name.Name != name {
						continue
					}
					for _, f := range t.Type.(*ast.StructType).Fields.List {
						fields += max(1, len(f.Names)) // an embedded one has no name
					}
				}
			}
		}
	}
	return methods, fields
}

// TestWorkerStaysSmall: what runs on every host carries neither the database nor the HTTP server's tools.
func TestWorkerStaysSmall(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./worker").CombinedOutput()
	if err != nil {
		t.Fatalf("go list -deps ./worker: %v\n%s", err, out)
	}
	for _, dep := range strings.Fields(string(out)) {
		for _, heavy := range []string{"jackc/pgx", "danielgtaylor/huma", "go-chi/", "pressly/goose", "prometheus/", "qb/supervisor"} {
			if strings.Contains(dep, heavy) {
				t.Errorf("worker imports, perhaps through others, %s", dep)
			}
		}
	}
}

// TestNothingBuilt: what git keeps is text that people read. A program that was once committed stays in every clone.
func TestNothingBuilt(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-z", "--cached").Output()
	if err != nil {
		t.Logf("git ls-files: %v; no repository, so nothing is kept", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if info, err := os.Stat(name); err == nil && info.Size() > maxKept {
			t.Errorf("%s: %d bytes, more than %d; git is for sources", name, info.Size(), maxKept)
		}
	}
}

func readTree() ([]source, error) {
	var all []source
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && (base == "testdata" || base == "tools" || base == "demo-out" || (base != "." && base[0] == '.')) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(base) != ".go" || name == "tidy_test.go" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s, err := parse(filepath.ToSlash(name), string(text))
		all = append(all, s)
		return err
	})
	return all, err
}

func parse(name, text string) (source, error) {
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return source{
		name: name, pkg: path.Dir(name), file: file,
		lines: strings.Count(text, "\n"), test: strings.HasSuffix(name, "_test.go"),
	}, err
}

func (s source) imports() []string {
	var paths []string
	for _, spec := range s.file.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}

// tagged files are built only on request.
func (s source) tagged() bool {
	return len(s.file.Comments) > 0 && strings.Contains(s.file.Comments[0].Text()+s.file.Comments[0].List[0].Text, "//go:build deps")
}

func at(pos token.Pos) string {
	p := fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

func brokenFloors(s source) (bad []string) {
	for _, imported := range s.imports() {
		ours, ok := strings.CutPrefix(imported, "qb/")
		if !ok || ours == s.pkg {
			continue
		}
		to, known := floors[ours]
		from := floors[s.pkg]
		allowed := onlyFrom[s.pkg]
		_, narrowed := onlyFrom[s.pkg]
		switch {
		case !known:
			bad = append(bad, fmt.Sprintf("%s imports %s, which has no floor", s.name, ours))
		case onlyBy[ours] != "" && onlyBy[ours] != s.pkg:
			bad = append(bad, fmt.Sprintf("%s imports %s, which only %s may", s.name, ours, onlyBy[ours]))
		case s.test && to <= from:
			// a test may stand beside another package, as the store's does beside pgcluster
		case to >= from:
			bad = append(bad, fmt.Sprintf("%s (floor %d) imports %s (floor %d): imports go down only", s.name, from, ours, to))
		case narrowed && !slices.Contains(allowed, ours):
			bad = append(bad, fmt.Sprintf("%s imports %s; %s may import of ours only %v", s.name, ours, s.pkg, allowed))
		}
	}
	return bad
}

func impurities(s source) (bad []string) {
	if s.test || !slices.Contains(pure, s.pkg) {
		return nil
	}
	for _, imported := range s.imports() {
		if !strings.HasPrefix(imported, "qb/") && !slices.Contains(pureStd, imported) {
			bad = append(bad, fmt.Sprintf("%s imports %s: %s is pure, it knows arithmetic, text, collections and types", s.name, imported, s.pkg))
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(worldlyTime, sel.Sel.Name) {
				bad = append(bad, fmt.Sprintf("%s: time.%s; %s is pure, it takes now as an argument", at(sel.Pos()), sel.Sel.Name, s.pkg))
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "rand" && !slices.Contains(seeded, sel.Sel.Name) {
				bad = append(bad, fmt.Sprintf("%s: rand.%s; %s is pure, it draws from a seed alone", at(sel.Pos()), sel.Sel.Name, s.pkg))
			}
		}
		return true
	})
	return bad
}

func strayLibraries(s source) (bad []string) {
	if s.test || s.tagged() {
		return nil
	}
	for _, imported := range s.imports() {
		first, _, _ := strings.Cut(imported, "/")
		if first == "qb" || !strings.Contains(first, ".") {
			continue
		}
		places := homeOf(imported)
		if !slices.Contains(places, s.pkg) && !slices.Contains(places, s.name) {
			bad = append(bad, fmt.Sprintf("%s imports %s, whose place is %v", s.name, imported, places))
		}
	}
	return bad
}

func homeOf(imported string) []string {
	for library, places := range homes {
		if imported == library || strings.HasPrefix(imported, library+"/") {
			return places
		}
	}
	return nil
}

func oversize(s source) (bad []string) {
	if s.lines > maxFileLines && !s.test {
		bad = append(bad, fmt.Sprintf("%s has %d lines, more than %d: it holds more than one idea", s.name, s.lines, maxFileLines))
	}
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1
		if lines > maxFuncLines {
			bad = append(bad, fmt.Sprintf("%s: %s has %d lines, more than %d", at(f.Pos()), f.Name.Name, lines, maxFuncLines))
		}
	}
	return bad
}

func bannedWords(s source) (bad []string) {
	if s.pkg == "cmd/qb" || strings.HasPrefix(s.pkg, "cmd/qb/") || s.pkg == "examples/demo" {
		return nil
	}
	isBanned := func(word string) (say string, yes bool) {
		word = strings.TrimSuffix(word, "s")
		if files := meant[word]; files != nil && files.MatchString(s.name) {
			return "", false
		}
		say, yes = banned[word]
		return say, yes
	}
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			for i, line := range strings.Split(theirs.ReplaceAllString(c.Text, ""), "\n") {
				for _, word := range wordsIn(line) {
					if say, ok := isBanned(word); ok {
						p := fset.Position(c.Pos())
						bad = append(bad, fmt.Sprintf("%s:%d: %q in a comment; say %s", p.Filename, p.Line+i, word, say))
					}
				}
			}
		}
	}
	for _, id := range declared(s.file) {
		for _, word := range wordsIn(id.Name) {
			if say, ok := isBanned(word); ok {
				bad = append(bad, fmt.Sprintf("%s: %q in the name %s; say %s", at(id.Pos()), word, id.Name, say))
			}
		}
	}
	return bad
}

// declared are the names that a file gives, not those it takes from others.
func declared(file *ast.File) (ids []*ast.Ident) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			ids = append(ids, n.Name)
		case *ast.TypeSpec:
			ids = append(ids, n.Name)
		case *ast.ValueSpec:
			ids = append(ids, n.Names...)
		case *ast.Field:
			ids = append(ids, n.Names...)
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if id, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					ids = append(ids, id)
				}
			}
		}
		return true
	})
	return ids
}

// wordsIn cuts text and names such as nextItem, HTTPServer and free_memory into lower-case words.
func wordsIn(text string) (words []string) {
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r):
			flush()
			continue
		case unicode.IsUpper(r) && len(word) > 0 && unicode.IsLower(word[len(word)-1]):
			flush()
		}
		word = append(word, r)
	}
	flush()
	return words
}

func leftovers(s source) (bad []string) {
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			for _, mark := range []string{"TODO", "FIXME", "XXX", "HACK"} {
				if strings.Contains(c.Text, mark) {
					bad = append(bad, fmt.Sprintf("%s: %s; do it, or file an issue", at(c.Pos()), mark))
				}
			}
		}
	}
	if !s.test {
		return bad
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, x.Name) {
			bad = append(bad, fmt.Sprintf("%s: a skipped test proves nothing; give it what it needs, or delete it", at(sel.Pos())))
		}
		return true
	})
	return bad
}

// TestRulesBite shows each rule something it must refuse, for a rule that never fires looks like a clean tree.
func TestRulesBite(t *testing.T) {
	long := "package x\nfunc f() {" + strings.Repeat("\n", maxFuncLines) + "}\n"
	cases := []struct {
		rule       func(source) []string
		name, text string
		want       int
	}{
		{brokenFloors, "worker/a.go", `package worker; import ("qb/supervisor"; "qb/smartshare"; "qb/api")`, 2},
		{brokenFloors, "supervisor/farm/a.go", `package farm; import "qb/api"`, 1},
		{brokenFloors, "supervisor/a.go", `package supervisor; import "qb/supervisor/model"`, 1},
		{brokenFloors, "agenda/a.go", `package agenda; import "qb/smartshare"`, 1},
		{impurities, "agenda/a.go", `package agenda; import ("os"; "time"); var n = time.Now`, 2},
		{impurities, "worker/core/a.go", `package core; import "math/rand/v2"; var r = rand.New(rand.NewPCG(1, 2)); var n = rand.IntN(3)`, 1},
		{strayLibraries, "api/a.go", `package api; import "github.com/go-chi/chi/v5/middleware"`, 1},
		{strayLibraries, "api/a.go", `package api; import "example.org/unknown"`, 1},
		{oversize, "api/a.go", long, 1},
		{oversize, "api/a.go", "package api\n" + strings.Repeat("\n", maxFileLines), 1},
		{bannedWords, "api/a.go", "package api\n// Tasks of a render node.\nvar subJobs, nodeCount int", 3},
		{bannedWords, "api/a.go", "package api\n// QB_FRAME_NUMBER comes in a log frame.\nvar count int", 0},
		{leftovers, "api/a_test.go", "package api\n// TO" + "DO: later\nfunc f() { t.Skip() }", 2},
	}
	for _, c := range cases {
		s, err := parse(c.name, c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.rule(s); len(got) != c.want {
			t.Errorf("%s: %d violations, want %d: %q", c.text[:min(len(c.text), 60)], len(got), c.want, got)
		}
	}
	counted, err := parse("supervisor/farm/a.go", "package farm; type Farm struct { *shared; a, b int }; func (f *Farm) A() {}; func (f Farm) B() {}; func (p *part) C() {}")
	if err != nil {
		t.Fatal(err)
	}
	if methods, fields := sizeOf([]source{counted}, "supervisor/farm", "Farm"); methods != 2 || fields != 3 {
		t.Errorf("a Farm with 2 methods and 3 fields was counted as one with %d and %d", methods, fields)
	}
	if got := largePackages([]source{{pkg: "large", lines: maxPackageLines + 1}, {pkg: "small", lines: maxPackageLines}}); len(got) != 1 {
		t.Errorf("a package too large beside one that is not: %q", got)
	}
}
