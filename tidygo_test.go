package qb_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"strings"
	"testing"
)

// bareGoroutines are those of the supervisor and the worker that no guard watches, by file: how many, and why a panic there may end the
// process, or cannot be.
var bareGoroutines = map[string]struct {
	count int
	why   string
}{
	"supervisor/access/credentials/tokentable.go": {1, "reads rows; the process is started again and reads them anew"},
	"supervisor/access/listeners/open.go":         {1, "accepts connections: without it the address is deaf, so the process is to end"},
	"supervisor/access/listeners/tls.go":          {1, "the standard library's handshake"},
	"supervisor/page/live/board.go":               {1, "counts views for those who follow"},
	"supervisor/serve/jobs_orders.go":             {1, "errgroup hands a panic on to who waits, and a request's is survived"},
	"supervisor/access/osusers/users.go":          {1, "the standard library's lookup of a user"},
	"supervisor/store/pgcluster/cluster.go":       {1, "keeps the private Postgres: without it the process is to end"},
	"supervisor/store/pgcluster/run.go":           {1, "waits for a file of Postgres"},
	"supervisor/lead/metrics/shares.go":           {1, "the question to the farm, under guard.Once inside"},
	"supervisor/serve/run.go":                     {2, "serves HTTP, which survives panics of requests; and calls the caller's Ready"},
	"supervisor/store/postgres/servers.go":        {1, "each question to a server, under guard.Once inside"},
	"supervisor/lead/term/lead.go":                {3, "the proof of the term and the committer, each under guard.Once inside; and what ages, which keeps its parts"},
	"worker/adopt.go":                             {2, "an agent that ends is started again and adopts its shims; items go on"},
	"worker/agent.go":                             {5, "the same"},
	"worker/leader.go":                            {1, "the same"},
	"worker/people/presence.go":                   {1, "the same"},
	"worker/picture/maker.go":                     {1, "waits for a child"},
	"worker/picture/turns.go":                     {1, "waits for a child"},
	"worker/reclaim.go":                           {1, "the same as agent.go"},
	"worker/restart.go":                           {1, "the same as agent.go"},
	"worker/ship.go":                              {2, "the same as agent.go"},
	"worker/shipends.go":                          {1, "the same as agent.go"},
	"worker/shimconn.go":                          {1, "the same as agent.go"},
	"worker/supervisorconn.go":                    {1, "the same as agent.go"},
	"worker/temps.go":                             {2, "the same as agent.go; waits for a child"},
	"worker/shim/attend.go":                       {4, "a shim that ends is seen by its agent, which ends its items"},
	"worker/shim/look.go":                         {1, "waits for a child"},
	"worker/shim/private.go":                      {1, "the same as attend.go"},
	"worker/shim/program.go":                      {1, "the same as attend.go"},
	"worker/shim/session.go":                      {1, "the same as attend.go"},
	"worker/shim/worksocket.go":                   {2, "the same as attend.go"},
	"worker/shim/shim.go":                         {6, "the same as attend.go"},
	"worker/shim/stop.go":                         {1, "the same as attend.go"},
}

// TestGoroutinesAreGuarded: whatever begins a goroutine in the supervisor or the worker guards it, or is listed with a reason.
func TestGoroutinesAreGuarded(t *testing.T) {
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, s := range all {
		if !s.test && (strings.HasPrefix(s.name, "supervisor/") || strings.HasPrefix(s.name, "worker/")) {
			if n := bare(s.file); n > 0 {
				found[s.name] = n
			}
		}
	}
	for name, n := range found {
		if listed := bareGoroutines[name]; n > listed.count {
			t.Errorf("%s: %d goroutines without a guard, %d listed; begin them under guard.Keeper or guard.Once", name, n, listed.count)
		}
	}
	for name, listed := range bareGoroutines {
		if found[name] < listed.count || listed.why == "" {
			t.Errorf("%s: %d goroutines without a guard, %d listed, because %q", name, found[name], listed.count, listed.why)
		}
	}
}

// bare counts the go statements, and calls of Go of groups, that do not begin with a guard.
func bare(file *ast.File) (n int) {
	ast.Inspect(file, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.GoStmt:
			if !guarded(x.Call) {
				n++
			}
		case *ast.CallExpr:
			if sel, is := x.Fun.(*ast.SelectorExpr); is && sel.Sel.Name == "Go" && len(x.Args) == 1 && !guarded(x) {
				n++
			}
		}
		return true
	})
	return n
}

// guarded says whether the goroutine does nothing outside of Keep, of a guard.Keeper, or of guard.Once.
func guarded(call *ast.CallExpr) bool {
	work := call
	for {
		literal, is := work.Fun.(*ast.FuncLit)
		if len(work.Args) == 1 && !is {
			literal, is = work.Args[0].(*ast.FuncLit)
		}
		if !is {
			break
		}
		if len(literal.Body.List) != 1 {
			return false
		}
		statement, is := literal.Body.List[0].(*ast.ExprStmt)
		if !is {
			return false
		}
		if work, is = statement.X.(*ast.CallExpr); !is {
			return false
		}
	}
	sel, is := work.Fun.(*ast.SelectorExpr)
	return is && sel.Sel.Name == "Keep"
}

// TestGuardedSees: the rule finds what it is for.
func TestGuardedSees(t *testing.T) {
	for code, want := range map[string]int{
		`go f()`:                                 1,
		`go func() { f() }()`:                    1,
		`w.Go(func() { f() })`:                   1,
		`w.Go(func() { k.Keep(c, "x", f) })`:     0,
		`go k.Keep(c, "x", f)`:                   0,
		`go func() { k.Keep(c, "x", f) }()`:      0,
		`go func() { g(); k.Keep(c, "x", f) }()`: 1,
	} {
		file, err := parser.ParseFile(fset, "a.go", fmt.Sprintf("package a\nfunc a() { %s }", code), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if n := bare(file); n != want {
			t.Errorf("%s: %d bare goroutines, want %d", code, n, want)
		}
	}
}
