package browser_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"

	"github.com/chromedp/chromedp"
)

// token is a part of a line as a program writes it, and the text that it means.
type token struct{ written, text string }

// words are text that stands for itself; none of it ends a line.
var words = []token{
	{"needle", "needle"}, {"nee\x1b[1;31mdle", "needle"}, {"n\x1b]8;;file:///x\x1b\\eedle\x1b]8;;\a", "needle"}, {"a", "a"}, {" b ", " b "}, {"é", "é"}, {"\U0001f525", "\U0001f525"},
	{"\u0a0a\u0d0d\u0808", "\u0a0a\u0d0d\u0808"}, {"\v", "\v"}, {"\f", "\f"}, {"\u0085", "\u0085"}, {"\u2028", "\u2028"}, {"\u2029", "\u2029"}, {"x\ufeff", "x\ufeff"}, {"\t", "\t"}, {"[0m", "[0m"},
	{"\x1b[0m", ""}, {"\x1b[K", ""}, {"\x1b(B", ""}, {"\x1b]0;a title\a", ""}, {"\x1bP1$r q\x1b\\", ""}, {"\x1b\x1b[3m", ""}, {"\x1b[3é", "é"}, {"\x00", ""}, {"\x00needle", "needle"},
}

// broken are bytes that are no UTF-8, each with the sign that stands for it.
var broken = []token{{"nee\xe9dle", "nee\ufffddle"}, {"\xffx", "\ufffdx"}, {"a\xc3b", "a\ufffdb"}}

// cut are sequences that the end of their line cuts off.
var cut = []token{{"\x1b", ""}, {"\x1b[", ""}, {"\x1b[38;5", ""}, {"\x1b]0;a needle", ""}, {"\x1b(", ""}}

var lineEnds = []string{"\n", "\r\n", "\r", "\b", "\b\b\b", "\r\r\n", "\n\n", "\n\r\n"}

// outputForm is output as a program writes it, and the texts of the lines that have some.
func outputForm(r *rand.Rand) (output []byte, texts []string) {
	coding, all := []string{"bytes", "mark", "little", "big", "little without mark", "big without mark"}[r.IntN(6)], strings.Builder{}
	wide := coding != "bytes" && coding != "mark"
	if coding == "mark" || coding == "little" || coding == "big" {
		all.WriteString("\ufeff")
	}
	for n := range 2 + r.IntN(18) {
		line := "line "
		switch {
		case n > 0 && r.IntN(3) == 0:
			all.WriteString("\ufeff") // of a program that is one of several
			line = ""
		case n > 0:
			line = ""
		}
		all.WriteString(line)
		draw := func(from []token) {
			one := from[r.IntN(len(from))]
			all.WriteString(one.written)
			line += one.text
		}
		for range r.IntN(6) {
			if draw(words); !wide && r.IntN(5) == 0 {
				draw(broken)
			}
		}
		if r.IntN(4) == 0 {
			draw(cut)
		}
		all.WriteString(lineEnds[r.IntN(len(lineEnds))])
		if strings.TrimSpace(line) != "" {
			texts = append(texts, line)
		}
	}
	if !wide {
		return []byte(all.String()), texts
	}
	var order binary.AppendByteOrder = binary.LittleEndian
	if strings.HasPrefix(coding, "big") {
		order = binary.BigEndian
	}
	for _, unit := range utf16.Encode([]rune(all.String())) {
		output = order.AppendUint16(output, unit)
	}
	return output, texts
}

// said is what the doors say of an output: the lines that the page shows, those that Find finds, with the lines of the
// page at its two places, and what the expressions of the job have kept.
type said struct {
	Lines      []string
	Found      []struct{ Line, Begin, Place int }
	Highlights []string
	Bytes      int
}

const ask = `(async job => {
	const module = name => import(document.querySelector("script[type=module]").src.replace("app.js", name));
	const [{ open, call }, { codingOf, lineAt, linesOf, plainOf, textOf }] = await Promise.all(["session.js", "lines.js"].map(module)), answers = [];
	for (let n = 1; n <= %d; n++) {
		const item = String(n), of = { job, item }, bytes = new Uint8Array(await (await open("item-log", of)).arrayBuffer()), log = { bytes, ...linesOf(bytes, 0, codingOf(bytes)) };
		const { matches } = await call("find-in-log", { ...of, text: "needle", limit: 1000 }), { attempts } = await call("get-item", of), at = place => lineAt(log.list, 0, place) + 1;
		answers.push({ Bytes: bytes.length, Lines: log.list.map(span => plainOf(textOf(log, span))), Found: matches.map(m => ({ Line: m.line, Begin: at(m.line_offset), Place: at(m.offset) })), Highlights: attempts.at(-1).highlights ?? [] });
	}
	return JSON.stringify(answers);
})(%q)`

// TestPageForms: however programs write their output, the page, Find, expressions and what they keep have the same lines of it,
// and qbout has its bytes.
func TestPageForms(t *testing.T) {
	t.Parallel()
	const items = 60
	f, r, folder := startFarm(t, "4"), rand.New(rand.NewPCG(7, 7)), t.TempDir()
	outputs, texts := make([][]byte, items+1), make([][]string, items+1)
	for n := 1; n <= items; n++ {
		outputs[n], texts[n] = outputForm(r)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(n)), outputs[n], 0o644); err != nil {
			t.Fatal(err)
		}
	}
	job := f.sub("-range", fmt.Sprintf("1-%d", items), "-regex_highlights", ".", "dd", "if="+folder+"/QB_FRAME_NUMBER", "bs=7", "status=none")
	f.run("wait", job)
	b := openTab(t, f)
	b.logIn(t)
	answer, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf(ask, items, job), chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	var answers []said
	if err := json.Unmarshal([]byte(answer), &answers); err != nil {
		t.Fatal(err)
	}
	for n, door := range answers {
		if n%10 == 0 {
			if got := f.output("out", fmt.Sprintf("%s:%d", job, n+1)); !bytes.Equal(got, outputs[n+1]) {
				t.Errorf("qbout prints %q of %q", got, outputs[n+1])
			}
		}
		door.agree(t, outputs[n+1], texts[n+1])
	}
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// agree compares what the doors say with the texts that were meant.
func (s said) agree(t *testing.T, output []byte, texts []string) {
	t.Helper()
	var shown, kept []string
	var found []int
	for n, line := range s.Lines {
		if strings.TrimSpace(line) != "" {
			shown = append(shown, line)
		}
		if strings.Contains(line, "needle") {
			found = append(found, n+1)
		}
	}
	for _, text := range texts {
		text = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, text))
		if len(kept) < 20 && !slices.Contains(kept, text) {
			kept = append(kept, text)
		}
	}
	if !slices.Equal(shown, texts) {
		t.Errorf("the page shows %q of %q, meant %q", shown, output, texts)
	}
	if !slices.Equal(s.Highlights, kept) {
		t.Errorf("the expressions keep %q of %q, meant %q", s.Highlights, output, kept)
	}
	lines := make([]int, len(s.Found))
	for n, hit := range s.Found {
		if lines[n] = hit.Line; hit.Begin != hit.Line || hit.Place != hit.Line {
			t.Errorf("Find leads to the lines %d and %d of the page for line %d of %q", hit.Begin, hit.Place, hit.Line, output)
		}
	}
	if !slices.Equal(lines, found) {
		t.Errorf("Find has the lines %v of %q, the page %v", lines, output, found)
	}
}
