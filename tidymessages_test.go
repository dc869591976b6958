package qb_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A message is read alone, in a log or beside a job: a pronoun in it has its noun before it in the same message.

// pronounFirst finds a message, or what follows its first colon, that begins with a pronoun. Of "this" and "that"
// it finds those without a noun behind them.
var pronounFirst = regexp.MustCompile(`^(?i)([a-z]+: )?(it|its|they|them|their|he|she|him|his|her|` +
	`(this|that|these|those) (is|was|has|had|are|were|have|may|must|can|cannot|could|needs?|does|did|will|would))\b`)

// messageCalls are functions and methods whose argument of that number is a message or the form of one.
var messageCalls = map[string]int{
	"New": 0, "Errorf": 0, "Error": 0, "Warn": 0, "Info": 0, "Debug": 0, "Refused": 0, "tryLater": 0, "took": 0,
}

// messageFields are the members and variables that hold a message: why something is so, or a remark on it.
var messageFields = []string{"reason", "cause", "remark", "detail", "forced", "known", "text", "how", "why"}

// pronounsAllowed are messages that may begin with a pronoun, each with the reason. The list may only shrink.
var pronounsAllowed = map[string]string{}

func TestMessagesNameTheirNoun(t *testing.T) { check(t, pronounMessages) }

// pronounMessages are the messages of a file that begin with a pronoun: arguments of what makes errors, logs and
// reasons, values of the fields that hold them, what is added to them, and what functions return as them.
func pronounMessages(s source) (bad []string) {
	if s.test {
		return nil
	}
	seen := map[token.Pos]bool{}
	look := func(e ast.Expr) {
		for _, lit := range beginnings(e) {
			text, err := strconv.Unquote(lit.Value)
			if err != nil || seen[lit.Pos()] || pronounsAllowed[text] != "" || !pronounFirst.MatchString(text) {
				continue
			}
			seen[lit.Pos()] = true
			bad = append(bad, at(lit.Pos())+": "+strconv.Quote(text)+" begins with a pronoun; name what it is about")
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if place, ok := messageCalls[calleeOf(n)]; ok && place < len(n.Args) {
				look(n.Args[place])
			}
			if calleeOf(n) == "Errorf" && len(n.Args) > 1 { // api.Errorf: the kind comes first
				look(n.Args[1])
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && isMessageName(key.Name) {
				look(n.Value)
			}
		case *ast.AssignStmt:
			for i, right := range n.Rhs {
				if len(n.Lhs) == len(n.Rhs) && isMessageName(nameOf(n.Lhs[i])) {
					look(right)
				}
			}
		case *ast.ReturnStmt:
			for _, result := range n.Results {
				look(result)
			}
		}
		return true
	})
	return bad
}

func calleeOf(call *ast.CallExpr) string { return nameOf(call.Fun) }

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func isMessageName(name string) bool { return slices.Contains(messageFields, strings.ToLower(name)) }

// beginnings are the literals with which a text can begin: of a sum its first, of a form that is filled in the form,
// of a choice each.
func beginnings(e ast.Expr) (lits []*ast.BasicLit) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			lits = append(lits, e)
		}
	case *ast.ParenExpr:
		return beginnings(e.X)
	case *ast.BinaryExpr:
		return beginnings(e.X)
	case *ast.CallExpr:
		switch calleeOf(e) {
		case "Sprintf", "Sprint", "Errorf", "New":
			if len(e.Args) > 0 {
				return beginnings(e.Args[0])
			}
		case "Or":
			for _, arg := range e.Args {
				lits = append(lits, beginnings(arg)...)
			}
		}
	}
	return lits
}

// TestMessageRuleBites shows the rule what it must refuse, and what it must let pass.
func TestMessageRuleBites(t *testing.T) {
	for _, c := range []struct {
		body string
		want int
	}{
		{`return errors.New("it ended by itself")`, 1},
		{`return fmt.Errorf("its key %s is not readable", name)`, 1},
		{`return api.Errorf(api.KindUsage, "they differ")`, 1},
		{`f.Reason = "its log cannot be written: " + err.Error()`, 1},
		{`f.Outcome, f.Reason = "lost", fmt.Sprintf("it ran for %s", d)`, 1},
		{`l.endHere(api.Finished{Outcome: "lost", Reason: "its shim was lost"})`, 1},
		{`log.Warn("this is not a worker's socket")`, 1},
		{`return fmt.Sprintf("It has %d hosts", n)`, 1},
		{`return cmp.Or(detail, "its shim has ended")`, 1},
		{`return errors.New("this worker does not obey the term")`, 0},
		{`return fmt.Errorf("the item's log: its file system %s is full", name)`, 0},
		{`return errors.New("items are missing")`, 0},
		{`const name = "its"`, 0},
	} {
		s, err := parse("worker/x.go", "package x\nfunc f() any {\n"+c.body+"\n}\n")
		if err != nil {
			t.Fatal(err)
		}
		if bad := pronounMessages(s); len(bad) != c.want {
			t.Errorf("%s: %q, want %d", c.body, bad, c.want)
		}
	}
}
