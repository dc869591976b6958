package browser_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestPageAvoided: a host on which a job's items fail while another completes them is marked in amber where hosts are
// listed and in the first view, the reason of what waits names it, and the legend of hosts picks the items of one.
func TestPageAvoided(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "4", "-hosts", "2")
	var hosts []struct{ Name string }
	if err := json.Unmarshal([]byte(f.run("hosts", "-json")), &hosts); err != nil || len(hosts) != 2 {
		t.Fatal(hosts, err)
	}
	bad, good := hosts[1].Name, hosts[0].Name
	job := f.sub("-name", "shot", "-cpus", "8", "-range", "1-24", "sh", "-c", `case $QB_HOST in `+bad+`) exit 7;; esac; sleep 0.3`)
	for end := time.Now().Add(patience); !strings.Contains(f.run("hosts", bad, "-no-headers", "-fields", "remark"), "no items of root until"); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(f.run("hosts"))
		}
	}
	waits := f.sub("-name", "next", "-cpus", "4", "-range", "1-16", "sleep", "600")
	b := openTab(t, f)
	b.logIn(t)
	for _, theme := range []string{"light", "dark"} {
		b.goTo(t, "#/")
		js[any](t, b, `document.documentElement.dataset.theme = "`+theme+`"`)
		b.see(t, "A host is kept from some work")
		b.until(t, "amber in the first view, "+theme, amber(`[...document.querySelectorAll(".card")].find(e => e.innerText.includes("`+bad+`: no items of"))`, "borderTopColor"))
		b.until(t, "amber in the sum of hosts, "+theme, amber(`[...document.querySelectorAll(".figure .note span")].find(e => e.innerText.includes("1 kept from some work"))`, "borderLeftColor"))
		b.picture(t, "avoided-farm-"+theme)
		b.goTo(t, "#/hosts")
		b.until(t, "amber in the list, "+theme, amber(`[...document.querySelectorAll(".row-line .warn-text")].find(e => e.innerText.includes("no items of"))`, "borderLeftColor"))
		b.picture(t, "avoided-hosts-"+theme)
		b.goTo(t, "#/hosts/"+bad)
		b.until(t, "amber in the host's view, "+theme, amber(`[...document.querySelectorAll(".card")].find(e => e.innerText.includes("no items of"))`, "borderTopColor"))
	}
	b.goTo(t, "#/hosts?q=avoided:yes")
	b.until(t, "the host alone", `document.querySelectorAll(".row-line").length === 1`)
	b.goTo(t, "#/jobs/"+waits)
	b.see(t, bad+" is avoided until")
	b.goTo(t, "#/jobs/"+job+"?by=host")
	b.until(t, "the end of the job", `document.querySelector(".state")?.innerText.includes("complete") === true`)
	b.until(t, "the host in the legend", `(() => { const e = [...document.querySelectorAll("[aria-label=Legend] button")].find(e => e.innerText.startsWith("`+good+`")); e?.click(); return Boolean(e); })()`)
	b.see(t, "24 on "+good)
	b.until(t, "all of its items", `document.querySelectorAll(".card.flush tbody tr").length === 24`)
	b.picture(t, "avoided-legend")
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// amber says whether an element is there, in the colours of a warning.
func amber(element, edge string) string {
	return `(() => {
		const e = ` + element + `, root = getComputedStyle(document.documentElement), pen = document.createElement("span").style;
		if (!e) return false;
		const of = name => { pen.color = root.getPropertyValue(name).trim(); return pen.color; };
		return getComputedStyle(e).backgroundColor === of("--warn-back") && getComputedStyle(e).` + edge + ` === of("--warn-line");
	})()`
}
