package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// outputs are what programs write whose lines are not simply lines.
var outputs = []struct{ name, python, shows, find string }{
	{"progress", `w(b"start\n" + b"".join(b"frame %6d needle\r" % i for i in range(22000)) + b"FATAL: disk full\n")`, "FATAL: disk full", "frame  21900 needle"},
	{"backspaces", `w(b"45%\b\b\b\b46%\b\b\b\bneedle 47%\nthe end\n")`, "the end", "needle"},
	{"one line of megabytes", `w(b"x" * 5000000 + b" needle FATAL: disk full")`, "FATAL: disk full", ""},
	{"bytes of Latin 1", `w(b"gr\xfc\xdfe \xff\xfe\xfa\n" * 30000 + b"a needle here\nthe end\n")`, "the end", "needle"},
	{"colours", `w(b"\x1b[31mERROR\x1b[0m: no \x1b]8;;x\x07needle\x1b]8;;\x07\x1b[K\n")`, "ERROR: no needle", "needle"},
	{"a mark of UTF-8", `w(b"\xef\xbb\xbf\nfirst needle\n")`, "first needle", "needle"},
	{"UTF-16", `w(b"\xff\xfe" + "first\r\nthe needle \u0a0a\r\nlast gr\u00fc\u00df\r\n".encode("utf-16-le"))`, "last grüß", "needle"},
	{"UTF-16, long", `w(b"\xfe\xff" + ("line %06d\n" * 20000 % tuple(range(20000)) + "the needle\nlast\n").encode("utf-16-be"))`, "last", "needle"},
	{"UTF-16 without a mark", `w(("start\r\n" + "line\r\n" * 70000 + "the needle \u0a0a gr\u00fc\u00df\r\nlast\r\n").encode("utf-16-le"))`, "last", "needle ਊ grüß"},
	{"a colour within a word", `w(b"one\n" + b"\x1b[32m.\x1b[0m" * 900 + b"\x1b[1mnee\x1b[31mdle\x1b[0m" + b"\x1b[32m.\x1b[0m" * 900 + b"\ntwo \x1b[3\nthe end\x1b[38;5")`, "the end", "needle"},
	{"a find within a long line", `w(b"first\n" + b"\x1b[31mx\x1b[0m" * 3000 + "\u00e9 needle \u00e9".encode() + b"z" * 9000 + b"\nthe end\n")`, "the end", "needle é"},
	{"separators that end no line", `w("a\v\fb\x85c\u2028d\u2029e\ufeff needle\n\ufefflast".encode())`, "last", "needle"},
	{"a line of 3 MB", `w(b"first\n" + b"\xe9" * 3000000 + b" needle " + b"y" * 1500 + b"\r")`, "yyyyyyy", "needle"},
	{"ends alone", `w(b"\r\r\b\r\n")`, "5 B of output without text", ""},
	{"nothing", `pass`, "No output", ""},
}

// TestPageOutput: whatever a program writes, the end of it is seen, and Find leads to the line that has the text.
func TestPageOutput(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "4")
	jobs := make([]string, len(outputs))
	for n, o := range outputs {
		jobs[n] = f.sub("-name", o.name, "-range", "1", "python3", "-c", "import sys\nw = sys.stdout.buffer.write\n"+o.python)
	}
	b := openTab(t, f)
	b.logIn(t)
	for n, o := range outputs {
		f.run("wait", jobs[n])
		b.goTo(t, "#/jobs/"+jobs[n]+"/items/1")
		b.until(t, "the output of "+o.name, `document.querySelector("h1")?.innerText.includes("`+o.name+`")`)
		b.see(t, o.shows)
		if o.find == "" {
			continue
		}
		js[any](t, b, fmt.Sprintf(`(() => { const e = document.querySelector("main input[type=search]"); e.focus(); e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); })()`, o.find))
		b.until(t, "a find in "+o.name, `/ lines?$/.test(document.querySelector("main [role=status]")?.innerText)`)
		b.do(t, chromedp.KeyEvent("\r"))
		b.until(t, "the line of "+o.name, fmt.Sprintf(`document.querySelector(".log-line.found")?.innerText.includes(%q)`, o.find))
	}
	b.definition(t)
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// definition compares lines of random output with what the definition says in other words, whole and from any byte on.
func (b *tab) definition(t *testing.T) {
	t.Helper()
	wrong := js[[]string](t, b, `(() => { globalThis.lines = null; import(document.querySelector("script[type=module]").src.replace("app.js", "lines.js")).then(m => { globalThis.lines = m; }); return []; })()`)
	b.until(t, "the module", `globalThis.lines`)
	wrong = append(wrong, js[[]string](t, b, `(() => {
		const { codingOf, linesOf, textOf, lineAt } = globalThis.lines, wrong = [];
		let seed = 42;
		const draw = n => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return (seed >>> 8) % n; };
		const wide = (text, little) => Uint8Array.from([...("\ufeff" + text)].flatMap(c => { const u = c.charCodeAt(0); return little ? [u & 255, u >> 8] : [u >> 8, u & 255]; }));
		const expected = text => text.replace(/[\r\b]+\n?/g, "\r").split(/(?<=[\n\r])/).filter(part => part !== "\r" && part !== "").map(part => part.replace(/[\n\r]$/, ""));
		for (let turn = 0; turn < 3000 && wrong.length < 5; turn++) {
			const text = Array.from({ length: draw(60) }, () => "abü\n\n\r\b"[draw(7)]).join(""), kind = draw(3);
			const bytes = kind ? wide(text, kind === 1) : new TextEncoder().encode(text), log = { bytes, ...linesOf(bytes, 0, codingOf(bytes)) };
			const got = log.list.map(span => textOf(log, span)), want = expected(text);
			if (JSON.stringify(got) !== JSON.stringify(want)) wrong.push(JSON.stringify({ text, kind, got, want }));
			log.list.forEach(([from], n) => { if (lineAt(log.list, 0, from) !== n) wrong.push("line " + n + " of " + JSON.stringify(text) + " is not at its byte"); });
			if (kind) continue;
			const begin = 1 + draw(200), part = linesOf(bytes, begin, "utf-8");
			if (/[abü]/.test(text) && !part.list.length) wrong.push("nothing is left of " + JSON.stringify(text));
			if (part.list.length > 1 && JSON.stringify(part.list.at(-1)) !== JSON.stringify(log.list.at(-1))) wrong.push("the last line of a part of " + JSON.stringify(text));
		}
		return wrong;
	})()`)...)
	for _, w := range wrong {
		t.Error(w)
	}
}
