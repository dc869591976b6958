package browser_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// wrongTexts are of fields that refuse some texts, beside numbers, which refuse all that is none.
var wrongTexts = map[string]string{
	"range": "1-", "start": "2031-02-30 04:05", "umask": "999", "requirements": "host.memory >", "reservations": "nonsense",
	"restrictions": "||", "dependency": "link-foo-job-1", "flags": "nosuch", "hostorder": "?", "env": "A B", "pathmap": "/a",
	"mailaddress": "nobody", "validate": "a.exr:new:10K", "max_cpus": "many", "regex_errors": "(", "regex_progress": "[", "cluster": strings.Repeat("c", 5000),
}

// TestPageWrongFields: each field of the form says at itself what is wrong with its text, and while it is wrong no
// command is shown.
func TestPageWrongFields(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "1")
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/submit")
	b.see(t, "Expert Mode")
	js[any](t, b, `document.querySelector("main input[type=checkbox]").click()`)
	b.fill(t, "command", "true")
	b.until(t, "the command", `document.querySelector(".dock").innerText.includes("qbsub")`)
	const typing = `(() => { const e = document.querySelector("main [name='%[1]s'], main [aria-label='%[1]s']"); e.value = %[2]q; e.dispatchEvent(new Event("input", {bubbles: true})); return true; })()`
	numbers := js[[]string](t, b, `[...document.querySelectorAll("main input[inputmode=numeric]")].map(e => e.name || e.getAttribute("aria-label"))`)
	if len(numbers) < 10 {
		t.Fatalf("only the fields %q take numbers", numbers)
	}
	for _, name := range append(numbers, "timelimit", "agendatimelimit", "timeout", "agenda_timeout", "time_estimate") {
		if wrongTexts[name] == "" {
			wrongTexts[name] = "abc"
		}
	}
	for name, text := range wrongTexts {
		js[any](t, b, fmt.Sprintf(typing, name, text))
		marked := fmt.Sprintf(`(() => { const e = document.querySelector("main [name='%[1]s'], main [aria-label='%[1]s']"), dock = document.querySelector(".dock").innerText; return e.getAttribute("aria-invalid") === "true" && e.closest(".field, .card").querySelector(".field-error")?.innerText.length > 3 && !dock.includes("qbsub") && !dock.includes("Copy"); })()`, name)
		for end := time.Now().Add(patience / 4); !js[bool](t, b, marked); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("%s %.30q is not marked, or a command is shown: %q", name, text, js[string](t, b, `document.querySelector(".dock").innerText`))
				break
			}
		}
		js[any](t, b, fmt.Sprintf(typing, name, ""))
		if name == "max_cpus" {
			js[any](t, b, `document.querySelector("main input[name=width]").click()`)
		}
		b.until(t, "the command after "+name, `document.querySelector(".dock").innerText.includes("qbsub")`)
	}
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}
