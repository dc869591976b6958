// Package qb_test holds the tree to its own rules: which room may know which, how long a function may
// grow, and which words we use. ARCHITECTURE.md says why; this file says so at each change.
package qb_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
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
	maxKept      = 384 << 10 // bytes of a file in git
	maxFileLines = 500

	maxMethods, maxFields = 45, 22 // of a type
	fewMethods            = 20     // a type with no more is a row or a message, which may have any number of fields
)

// rooms says of each room what it may import, besides itself and what those may. A room is a folder at the top, or one
// below supervisor.
var rooms = map[string]string{
	"internal": "", "api": "", "smartshare": "", "migrations": "", "agenda": "internal", "openjd": "",
	"job": "agenda smartshare api", "share": "job", "why": "share", "farm": "why",
	"store": "job migrations", "lead": "farm store", "wire": "lead openjd", "access": "wire", "page": "wire", "serve": "access page",
	"doors": "serve", "worker": "agenda api", "cmd": "doors worker openjd", "examples": "api", "sim": "cmd",
}

// upward are the imports of tests that go the other way: each makes input by the same code as the product.
var upward = map[string]string{
	"supervisor/farm":           "supervisor/wire/translate supervisor/wire/parts", // events of submissions
	"supervisor/farm/model":     "worker/core",                                     // the lists of an agent
	"supervisor/lead/term":      "supervisor/wire/settings",                        // a policy by default
	"supervisor/store/postgres": "supervisor/farm/items sim/replica",               // states of items; a second Postgres
	"worker":                    "supervisor/access/certs",                         // a supervisor's certificate
}

// onlyBy: a package that only one other may import.
var onlyBy = map[string]string{"supervisor/farm/model": "supervisor/farm"}

// pure packages see no clock, no disk, no network and no chance: the same events give the same farm.
var pure = []string{"internal/units", "internal/pathmap", "internal/patterns", "internal/listdigest", "agenda", "openjd", "smartshare", "smartshare/fairshare", "smartshare/packing", "supervisor/job/facts", "supervisor/job/fit", "supervisor/share/planner", "supervisor/share/slottime", "supervisor/why/explain", "supervisor/farm", "supervisor/farm/model", "supervisor/farm/message", "supervisor/farm/accounting", "supervisor/farm/profiles", "supervisor/job/licences", "supervisor/farm/items", "supervisor/farm/agents", "supervisor/farm/outbox", "supervisor/farm/quota", "supervisor/farm/culprit", "supervisor/wire/parts", "worker/core"}

// pureStd is arithmetic, text, collections and types; runtime/debug is for the stack of a panic. The library for YAML
// makes nodes of a text.
var pureStd = []string{
	"bytes", "cmp", "container/heap", "container/list", "crypto/sha256", "encoding/binary", "encoding/hex", "encoding/json", "errors", "fmt",
	"go.yaml.in/yaml/v4", "hash/fnv", "io", "iter", "maps", "math", "math/bits", "math/rand/v2", "path", "reflect", "regexp", "regexp/syntax", "runtime/debug", "slices", "sort", "strconv", "strings", "sync",
	"time", "unicode", "unicode/utf16", "unicode/utf8",
}

// seeded are the parts of package math/rand/v2 that draw from a given seed alone.
var seeded = []string{"New", "NewPCG", "Rand"}

// remembered is the part of package sync that makes a value at its first use, the same each time.
var remembered = []string{"OnceValue"}

// worldlyTime are the parts of package time that read the clock or wait.
var worldlyTime = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local"}

// homes says where a library may be imported: a package, or a single file. Tests and files for other
// build tags are free. A library without a home is a violation, so that no dependency slips in.
var homes = map[string][]string{
	"github.com/jackc/pgx/v5":             {"supervisor/store/postgres", "supervisor/store/pgcluster", "cmd/qb-bench"},
	"github.com/pressly/goose/v3":         {"supervisor/store/postgres"},
	"github.com/danielgtaylor/huma/v2":    {"supervisor/serve/routes.go"},
	"github.com/go-chi/chi/v5":            {"supervisor/serve/routes.go"},
	"github.com/go-chi/httprate":          {"supervisor/access/gate"},
	"github.com/go-json-experiment/json":  {"supervisor/access/gate/syncs.go"},
	"github.com/prometheus/client_golang": {"supervisor/lead/metrics"},
	"github.com/spf13/cobra":              {"cmd/qb", "cmd/qb-bench", "cmd/qb/commandline", "cmd/qb/find", "cmd/qb/service"},
	"github.com/spf13/pflag":              {"cmd/qb", "cmd/qb/commandline", "cmd/qb/output"},
	"github.com/BurntSushi/toml":          {"cmd/qb/config"},
	"charm.land/bubbletea/v2":             {"cmd/qb/watch"},
	"charm.land/lipgloss/v2":              {"cmd/qb", "cmd/qb/output", "cmd/qb/watch"},
	"github.com/shirou/gopsutil/v4":       {"worker"},
	"github.com/godbus/dbus/v5":           {"worker/people"},
	"golang.org/x/image":                  {"worker/picture"},
	"golang.org/x/term":                   {"cmd/qb/output"},
	"github.com/gofrs/flock":              {"internal/statedir"},
	"golang.org/x/sys":                    {"api", "internal/statedir", "openjd/session", "worker", "worker/picture", "worker/people", "worker/cgroup", "worker/proc", "worker/shim", "worker/tree", "supervisor/lead/term", "supervisor/access/credentials", "supervisor/access/listeners", "supervisor/store/logstore", "supervisor/store/pgcluster", "cmd/qb", "cmd/qb/config", "cmd/qb/output"},
	"golang.org/x/time":                   {"supervisor/access/limits", "supervisor/store/mail", "supervisor/access/credentials", "supervisor/access/sso", "supervisor/access/audit", "supervisor/serve/workers_enrol.go", "supervisor/serve/workers.go", "supervisor/serve/people_session.go"},
	"golang.org/x/oauth2":                 {"supervisor/access/sso"},
	"github.com/coreos/go-oidc/v3":        {"supervisor/access/sso"},
	"golang.org/x/sync":                   {"supervisor/serve", "worker"},
	"go.yaml.in/yaml/v4":                  {"openjd", "cmd/qb"},
}

// banned words belong to other systems; the glossary in ARCHITECTURE.md has ours. Users' old scripts
// may say them to cmd/qb.
var banned = map[string]string{
	"task": "item, or the job's command", "frame": "item", "subjob": "instance", "node": "host", "cage": "control group",
}

// theirs are the places where a banned word is somebody else's name for something.
var theirs = regexp.MustCompile(`QB_[A-Z_]*FRAME|(?i)\b(log|stack|call)[ -]frames?\b`)

// meant are files in which a banned word is the right one: the unit of an item's log on disk and on the
// wire is a frame, the graphs of smartshare, which knows no hosts, and JSON trees consist of nodes, and the language of
// Open Job Description has tasks.
var meant = map[string]*regexp.Regexp{
	"task":  regexp.MustCompile(`^openjd/|^supervisor/wire/openjdjobs/|^supervisor/serve/jobs_openjd`),
	"frame": regexp.MustCompile(`^(api/sync|supervisor/serve/items_log|supervisor/store/logstore/(store|demux|size|doc)|worker/(shim/pump|logs?|ship))(_test)?\.go$|^openjd/`),
	"node":  regexp.MustCompile(`^(smartshare|openjd)/`),
}

// source is one parsed file.
type source struct {
	name, pkg string // path from the root, its folder
	file      *ast.File
	text      []string // its lines
	lines     int
	test      bool
}

var (
	fset    = token.NewFileSet()
	sources = sync.OnceValues(readTree)
)

func TestImports(t *testing.T)   { check(t, strayImports) }
func TestPure(t *testing.T)      { check(t, impurities) }
func TestLibraries(t *testing.T) { check(t, strayLibraries) }
func TestSizes(t *testing.T)     { check(t, oversize) }
func TestWords(t *testing.T)     { check(t, bannedWords) }
func TestLeftovers(t *testing.T) { check(t, leftovers) }
func TestStart(t *testing.T)     { check(t, slowStarts) }

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
		if pkg == "." {
			continue
		}
		room := roomOf(pkg)
		row := regexp.MustCompile(`(?m)^\| .{0,20}` + "`" + room + "`" + ` \|.*$`).FindString(string(architecture))
		if row == "" {
			t.Errorf("ARCHITECTURE.md: no row for `%s`", room)
		} else if name := path.Base(pkg); name != room && !strings.Contains(row, "`"+name+"`") {
			t.Errorf("ARCHITECTURE.md: the row of `%s` does not name `%s`", room, name)
		}
	}
}

// largeTypes have more methods than maxMethods, or fields than maxFields beside methods of their own. They may lose some,
// and no type may join them: what a part can do with its own state belongs to a type of its own.
var largeTypes = map[string]struct{ methods, fields int }{
	"smartshare/packing.packer":        {72, 17},
	"supervisor/farm.Farm":             {118, 21},
	"supervisor/farm/model.Host":       {58, 30},
	"supervisor/farm/model.Instance":   {47, 32},
	"supervisor/farm/model.Job":        {91, 26},
	"supervisor/lead/term.Loop":        {33, 32},
	"supervisor/share/planner.balance": {76, 28},
	"supervisor/store/postgres.Store":  {87, 8},
	"supervisor/wire/settings.Config":  {33, 125},
	"worker.agent":                     {32, 35},
	"worker.shimConn":                  {28, 26},
	"worker/core.Core":                 {61, 40},
	"worker/shim.shim":                 {46, 29},
}

// TestTypeSizes: a type is small enough to be read as a whole.
func TestTypeSizes(t *testing.T) {
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range oversizeTypes(typeSizes(all)) {
		t.Error(complaint)
	}
}

type typeSize struct{ methods, fields int }

// typeSizes counts the methods and the fields that each type has itself.
func typeSizes(all []source) map[string]typeSize {
	sizes := map[string]typeSize{}
	add := func(s source, name string, methods, fields int) {
		name = s.pkg + "." + name
		sizes[name] = typeSize{sizes[name].methods + methods, sizes[name].fields + fields}
	}
	for _, s := range all {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					add(s, strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*"), 1, 0)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					t, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					if form, ok := t.Type.(*ast.StructType); ok {
						for _, f := range form.Fields.List {
							add(s, t.Name.Name, 0, max(1, len(f.Names))) // an embedded one has no name
						}
					}
				}
			}
		}
	}
	return sizes
}

func oversizeTypes(sizes map[string]typeSize) (bad []string) {
	for name, limit := range largeTypes {
		if sizes[name].methods == 0 {
			bad = append(bad, name+" is in largeTypes, but not in the tree")
		} else if got := sizes[name]; got.methods < limit.methods-5 || got.fields < limit.fields-5 {
			bad = append(bad, fmt.Sprintf("%s has %d methods and %d fields now: lower its limits in largeTypes", name, got.methods, got.fields))
		}
	}
	for name, got := range sizes {
		limit, large := largeTypes[name]
		if !large {
			limit.methods, limit.fields = maxMethods, maxFields
			if got.methods <= fewMethods { // a row or a message
				limit.fields = got.fields
			}
		}
		if got.methods > limit.methods || got.fields > limit.fields {
			bad = append(bad, fmt.Sprintf("%s has %d methods and %d fields, more than %d and %d: give a part what it needs alone",
				name, got.methods, got.fields, limit.methods, limit.fields))
		}
	}
	return bad
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

// clientLinks are the packages of rooms below the commands that the client build links without being pure.
var clientLinks = []string{"api", "api/pin", "internal/statedir", "internal/pause", "supervisor/farm/central", "supervisor/wire/settings", "worker/settings"}

// TestClientStaysSmall: the commands for those who use a farm (go build -tags client) carry neither supervisor nor worker.
func TestClientStaysSmall(t *testing.T) {
	out, err := exec.Command("go", "list", "-tags", "client", "-deps", "./cmd/qb").CombinedOutput()
	if err != nil {
		t.Fatalf("go list -tags client -deps ./cmd/qb: %v\n%s", err, out)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		ours, ok := strings.CutPrefix(dep, "qb/")
		stray := ok && roomOf(ours) != "cmd" && !slices.Contains(pure, ours) && !slices.Contains(clientLinks, ours)
		for _, heavy := range []string{"jackc/", "danielgtaylor/", "go-chi/", "pressly/", "prometheus/", "coreos/", "shirou/", "godbus/", "russross/"} {
			stray = stray || strings.Contains(dep, "/"+heavy)
		}
		if stray || dep == "qb/cmd/qb/service" {
			t.Errorf("the client build links %s", dep)
		}
	}
	build := exec.Command("go", "build", "-tags", "client", "-o", filepath.Join(t.TempDir(), "qb"), "./cmd/qb")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("go build -tags client ./cmd/qb: %v\n%s", err, out)
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
		name: name, pkg: path.Dir(name), file: file, text: strings.Split(text, "\n"),
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

// roomOf is the room of a package.
func roomOf(pkg string) string {
	top, rest, _ := strings.Cut(pkg, "/")
	if top == "supervisor" {
		top, _, _ = strings.Cut(rest, "/")
	}
	return top
}

// mayImport says whether a room may import another.
func mayImport(from, to string) bool {
	return from == to || slices.ContainsFunc(strings.Fields(rooms[from]), func(next string) bool { return mayImport(next, to) })
}

func strayImports(s source) (bad []string) {
	from := roomOf(s.pkg)
	if _, known := rooms[from]; !known && s.pkg != "." {
		bad = append(bad, fmt.Sprintf("%s: %s is no room; give it a place in tidy_test.go and ARCHITECTURE.md", s.name, from))
	}
	for _, imported := range s.imports() {
		ours, ok := strings.CutPrefix(imported, "qb/")
		if !ok || ours == s.pkg {
			continue
		}
		switch to := roomOf(ours); {
		case onlyBy[ours] != "" && onlyBy[ours] != s.pkg:
			bad = append(bad, fmt.Sprintf("%s imports %s, which only %s may", s.name, ours, onlyBy[ours]))
		case s.test && slices.Contains(strings.Fields(upward[s.pkg]), ours):
		case !mayImport(from, to):
			bad = append(bad, fmt.Sprintf("%s imports %s: %s may import %s and what these may", s.name, ours, from, cmp.Or(rooms[from], "nothing")))
		}
	}
	return bad
}

func impurities(s source) (bad []string) {
	if s.test || !slices.Contains(pure, s.pkg) {
		return nil
	}
	for _, imported := range s.imports() {
		ours, ok := strings.CutPrefix(imported, "qb/")
		if !ok && !slices.Contains(pureStd, imported) || ok && !slices.Contains(pure, ours) && !(ours == "api" && s.pkg == "worker/core") {
			bad = append(bad, fmt.Sprintf("%s imports %s: %s is pure, it knows arithmetic, text, collections and types", s.name, imported, s.pkg))
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(worldlyTime, sel.Sel.Name) {
				bad = append(bad, fmt.Sprintf("%s: time.%s; %s is pure, it takes now as an argument", at(sel.Pos()), sel.Sel.Name, s.pkg))
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "sync" && !slices.Contains(remembered, sel.Sel.Name) {
				bad = append(bad, fmt.Sprintf("%s: sync.%s; %s is pure, nothing runs beside it", at(sel.Pos()), sel.Sel.Name, s.pkg))
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
		if branch, ok := n.(*ast.IfStmt); ok && isShort(branch.Cond) {
			return false // `go test` without -short runs it
		}
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

// isShort says whether a condition is just testing.Short().
func isShort(cond ast.Expr) bool {
	call, ok := cond.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Short"
}

// slowStarts are expressions and templates that are compiled as the program starts: each command would pay for all of them.
func slowStarts(s source) (bad []string) {
	if s.test {
		return nil
	}
	for _, decl := range s.file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.VAR {
			continue
		}
		var visit func(n ast.Node) bool
		visit = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit: // runs later, unless it is called here
				return false
			case *ast.CallExpr:
				if now, ok := n.Fun.(*ast.FuncLit); ok {
					ast.Inspect(now.Body, visit)
				}
				if call := types.ExprString(n.Fun); call == "regexp.MustCompile" || call == "template.Must" {
					bad = append(bad, fmt.Sprintf("%s: %s as the program starts; wrap it in sync.OnceValue, so that only who needs it waits", at(n.Pos()), call))
				}
			}
			return true
		}
		ast.Inspect(d, visit)
	}
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
		{strayImports, "worker/a.go", `package worker; import ("qb/supervisor"; "qb/smartshare"; "qb/api")`, 2},
		{impurities, "supervisor/farm/a.go", `package farm; import "qb/api"`, 1},
		{strayImports, "supervisor/farm/a.go", `package farm; import ("qb/supervisor/share/planner"; "qb/internal/units")`, 0},
		{strayImports, "supervisor/farm/a_test.go", `package farm; import ("qb/supervisor/wire/parts"; "qb/supervisor/wire/lists")`, 1},
		{strayImports, "supervisor/serve/a.go", `package supervisor; import "qb/supervisor/farm/model"`, 1},
		{strayImports, "agenda/a.go", `package agenda; import "qb/smartshare"`, 1},
		{strayImports, "supervisor/new/a.go", `package new`, 1},
		{impurities, "worker/core/b.go", `package core; import ("qb/worker/shim"; "qb/internal/units"; "qb/api")`, 1},
		{impurities, "agenda/a.go", `package agenda; import ("os"; "time"); var n = time.Now`, 2},
		{impurities, "worker/core/a.go", `package core; import "math/rand/v2"; var r = rand.New(rand.NewPCG(1, 2)); var n = rand.IntN(3)`, 1},
		{strayLibraries, "api/a.go", `package api; import "github.com/go-chi/chi/v5/middleware"`, 1},
		{strayLibraries, "api/a.go", `package api; import "example.org/unknown"`, 1},
		{oversize, "api/a.go", long, 1},
		{oversize, "api/a.go", "package api\n" + strings.Repeat("\n", maxFileLines), 1},
		{bannedWords, "api/a.go", "package api\n// Tasks of a render node.\nvar subJobs, nodeCount int", 3},
		{bannedWords, "api/a.go", "package api\n// QB_FRAME_NUMBER comes in a log frame.\nvar count int", 0},
		{impurities, "agenda/b.go", `package agenda; import "sync"; var a = sync.OnceValue(f); var b sync.Mutex`, 1},
		{slowStarts, "api/a.go", `package api; var a = regexp.MustCompile("a"); var b = sync.OnceValue(func() any { return regexp.MustCompile("b") }); var c = func() any { return template.Must(nil, nil) }()`, 2},
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
	if got := typeSizes([]source{counted})["supervisor/farm.Farm"]; got != (typeSize{2, 3}) {
		t.Errorf("a Farm with 2 methods and 3 fields was counted as %+v", got)
	}
	within := map[string]typeSize{"p.large": {maxMethods + 1, 1}, "p.wide": {fewMethods + 1, maxFields + 1}, "p.row": {fewMethods, 99}, "p.small": {maxMethods, maxFields}}
	for name, limit := range largeTypes {
		within[name] = typeSize(limit)
	}
	if got := oversizeTypes(within); len(got) != 2 {
		t.Errorf("a type with too many methods and one with too many fields beside types that have not: %q", got)
	}
	delete(within, "supervisor/farm.Farm")
	if got := oversizeTypes(within); len(got) != 3 {
		t.Errorf("a large type that is gone: %q", got)
	}
}
