package browser_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// scripted are texts that a browser takes for more than text somewhere: in markup, in an address, in a style, in a template.
var scripted = []string{
	hostile, `<svg onload=document.documentElement.dataset.pwned=1>`, `javascript:document.documentElement.dataset.pwned=1`, `data:text/html,<script>alert(1)</script>`,
	`"onmouseover="document.documentElement.dataset.pwned=1`, `</script><iframe srcdoc="<script>parent.document.documentElement.dataset.pwned=1</script>">`, `x;background:url(//evil.example/x)`,
	`__proto__`, `constructor`, "\u061c\u2066\u2028\U000e0041tagged\u2069\u00ad", `%3Cimg%20src=x%20onerror=alert(1)%3E`, `//evil.example/x`, `${alert(1)}`,
}

// harm is what such a text has become if it is more than text: what ran, elements and addresses of its own, and characters by which
// text is seen in another order than it has, or not at all.
const harm = `(() => {
	const found = [], root = document.documentElement;
	if (root.dataset.pwned || ({}).pwned || globalThis.pwned) found.push("a script ran");
	for (const e of document.querySelectorAll("*")) {
		if (["IMG", "IFRAME", "OBJECT", "EMBED", "BASE", "FORM"].includes(e.tagName) && !/^(blob:|data:image\/|\/)/.test(e.getAttribute("src") ?? e.getAttribute("data") ?? "/")) found.push(e.outerHTML.slice(0, 200));
		for (const a of e.attributes) {
			if (/^on/i.test(a.name)) found.push("attribute " + a.name);
			if (/^(href|src|action|formaction|xlink:href|srcdoc)$/i.test(a.name) && !/^(#|\/(?!\/)|blob:|data:image\/)/.test(a.value) && new URL(a.value, location.href).origin !== location.origin) found.push(a.name + " " + a.value.slice(0, 200));
		}
		if (/evil\.example/.test(e.getAttribute("style") ?? "")) found.push("style " + e.getAttribute("style"));
	}
	const odd = root.innerText.match(/[\p{Bidi_Control}\p{Cf}\p{Zl}\p{Zp}]|(?![\n\t])\p{Cc}/u);
	if (odd) found.push("the character U+" + odd[0].codePointAt(0).toString(16) + " in " + JSON.stringify(root.innerText.slice(Math.max(0, odd.index - 60), odd.index + 20)));
	return found;
})()`

// TestPageAttackNames: names, notes, labels, clusters, folders, commands, tags, output, paths, reasons, names of items, properties of hosts
// and addresses that mean harm are text in every view.
func TestPageAttackNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	toml := func(text string) string {
		quoted, _ := json.Marshal(text) // a text of TOML has the same escapes
		return string(quoted)
	}
	conf := filepath.Join(dir, "qb.conf")
	text := fmt.Sprintf("worker_cluster = %s\nworker_properties = {site = %s}\n", toml("/"+strings.ReplaceAll(scripted[0], "/", "")), toml(scripted[1]))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := startFarm(t, "4", "-conf", conf)
	var jobs []string
	for n, text := range scripted {
		word := strings.NewReplacer(",", "", ":", "", "\u2028", "", "\u0007", "", "\u001b", "", "\n", "").Replace(text)
		job := f.sub("-name", text, "-notes", strings.Repeat(text, 10), "-label", word, "-kind", word, "-cluster", "/"+strings.ReplaceAll(text, "/", "|"), "-prod_show", string([]rune(text)[:min(60, len([]rune(text)))]),
			"-range", "1-2", "-priority", fmt.Sprint(100+n), "-regex_highlights", ".+", "-regex_outputpaths", "(.+)", "-validate", "/nowhere/"+strings.ReplaceAll(text, ",", ""), "-cwd", dir,
			"sh", "-c", `printf '%s\n' "$0"; exit $((QB_FRAME_NUMBER % 2))`, text)
		jobs = append(jobs, job)
	}
	f.sub("-name", strings.Repeat("W", 255), "-notes", strings.Repeat("long ", 800), "-range", "1-3", "false")
	b := openTab(t, f)
	b.logIn(t)
	look := func(address string) {
		t.Helper()
		quoted, _ := json.Marshal(address)
		js[any](t, b, `location.hash = `+string(quoted))
		time.Sleep(250 * time.Millisecond)
		for _, found := range js[[]string](t, b, harm) {
			t.Errorf("%s: %s", address, found)
		}
	}
	for end := time.Now().Add(patience); f.run("jobs", "-no-headers", "-fields", "status", jobs[len(jobs)-1]) != "failed"; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the last job does not end")
		}
	}
	b.goTo(t, "#/jobs/"+jobs[0])
	b.see(t, "‹202e›")
	for _, address := range []string{"#/", "#/jobs", "#/hosts", "#/hosts/h", "#/slots", "#/submit", "#/me", "#/history", "#/shares", "#/reports"} {
		look(address)
	}
	for _, job := range jobs {
		look("#/jobs/" + job)
		look("#/jobs/" + job + "/items/1")
	}
	for _, text := range scripted {
		for _, where := range []string{"#/%s", "#/jobs/%s", "#/hosts/%s", "#/jobs?q=%s", "#/jobs/1/items/%s", "#/jobs?sort=%s"} {
			look(fmt.Sprintf(where, text))
			look(fmt.Sprintf(where, url.PathEscape(text)))
		}
	}
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}
