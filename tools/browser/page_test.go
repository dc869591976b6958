package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// hostile is text that a user can give a job as its name, or print.
const hostile = `<img src=x onerror=alert(1)>"'${7*7}{{constructor}}` + "\u202egnp.exe\u202c\u0007\u001b]8;;http://evil.example\u0007x" + `<script src=//evil.example></script>`

// tab is a browser's tab with the page of a farm, and what went wrong in it.
type tab struct {
	*farm
	ctx      context.Context
	mu       sync.Mutex
	wrongs   []string
	requests int
	changes  []string // requests that may change the farm, as METHOD path
}

// asks are the requests that are no GET and change nothing on the farm.
var asks = map[string]bool{"/v1/sessions": true, "/v1/submissions/check": true, "/v1/submissions/what-if": true, "/v1/openjd/check": true}

// requestsIn counts the requests that a view makes by itself in a time.
func (b *tab) requestsIn(d time.Duration) int {
	count := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.requests
	}
	before := count()
	time.Sleep(d)
	return count() - before
}

func (b *tab) wrong(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrongs = append(b.wrongs, fmt.Sprintf(format, args...))
}

func openTab(t *testing.T, f *farm, flags ...chromedp.ExecAllocatorOption) *tab {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("there is no chromium; tools/deps chromium installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(options, flags...)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Hour) // of a hundred restarts
	t.Cleanup(cancel)
	b := &tab{farm: f, ctx: ctx}
	b.do(t, chromedp.EmulateViewport(1440, 900))
	err = chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.wrong("exception: %s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
		case *log.EventEntryAdded:
			if e.Entry.Level == "error" && !strings.HasPrefix(e.Entry.Text, "Failed to load resource") { // refusals that the page shows
				b.wrong("log: %s %s", e.Entry.Text, e.Entry.URL)
			}
		case *cdpage.EventJavascriptDialogOpening:
			b.wrong("a dialog opened: %s", e.Message)
		case *network.EventRequestWillBeSent:
			b.mu.Lock()
			b.requests++
			if u, err := url.Parse(e.Request.URL); e.Request.Method != http.MethodGet && err == nil && !asks[u.Path] {
				b.changes = append(b.changes, e.Request.Method+" "+u.Path)
			}
			b.mu.Unlock()
			if u := e.Request.URL; !f.serves(u) && !strings.HasPrefix(u, "data:") {
				b.wrong("a request to %s", u)
			}
		}
	})
	if err == nil {
		_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	}
	if err == nil {
		_, err = chromedp.Call(ctx, log.Enable, cdp.Empty{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// serves says whether an address is the farm's, as a page or a session of the page calls it.
func (f *farm) serves(address string) bool {
	address = strings.TrimPrefix(address, "blob:")
	return strings.HasPrefix(address, f.url+"/") || regexp.MustCompile(`^http://[0-9a-f]{16}\.localhost:`+f.port+`/`).MatchString(address)
}

// do takes a step.
func (b *tab) do(t *testing.T, step chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, step); err != nil {
		t.Fatal(err)
	}
}

// js evaluates an expression.
func js[T any](t *testing.T, b *tab, expression string) T {
	t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// patience is for what comes at once on a machine that has nothing else to do.
const patience = time.Minute

// until waits for something to be true.
func (b *tab) until(t *testing.T, what, expression string) {
	t.Helper()
	for end := time.Now().Add(patience); !js[bool](t, b, "!!("+expression+")"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			b.picture(t, "failed")
			t.Fatalf("%s: not within %s; the page says:\n%s\nwrong so far: %q", what, patience, js[string](t, b, `document.body?.innerText.slice(0, 2000) ?? ""`), b.wrongs)
		}
	}
}

// see waits until the page shows a text.
func (b *tab) see(t *testing.T, text string) {
	t.Helper()
	quoted, _ := json.Marshal(text) // a text always encodes
	b.until(t, "seeing "+text, `document.body?.innerText.includes(`+string(quoted)+`) === true`)
}

func (b *tab) goTo(t *testing.T, address string) {
	t.Helper()
	js[string](t, b, `location.hash = "`+address+`"`)
}

// press clicks the first button or link whose text begins so; of an open dialog, if there is one.
func (b *tab) press(t *testing.T, text string) {
	t.Helper()
	b.until(t, "pressing "+text, `(() => {
		const e = [...(document.querySelector("dialog[open]") ?? document).querySelectorAll("button, a")].find(e => e.innerText.trim().startsWith("`+text+`") && !e.disabled);
		e?.click();
		return Boolean(e);
	})()`)
}

// picture leaves a screenshot in page-out.
func (b *tab) picture(t *testing.T, name string) {
	t.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	dir := filepath.Join("..", "..", "page-out")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (f *farm) sub(args ...string) string {
	f.t.Helper()
	return f.run(append([]string{"sub"}, args...)...)
}

// TestPage walks through all views of a real farm with jobs that run, fail and wait, and one whose owner means harm.
func TestPage(t *testing.T) {
	f := startFarm(t, "8")
	f.sub("-name", "beauty_sh010_v012", "-cpus", "3", "-max_cpus", "6", "-priority", "100", "-range", "1-400", "-cluster", "/show/sh010", "sh", "-c", "echo rendering item $QB_FRAME_NUMBER; sleep 0.7")
	failing := f.sub("-name", "comp_sh020_v003", "-priority", "200", "-cpus", "2", "-range", "1-60", "sh", "-c", `n=$QB_FRAME_NUMBER; printf '\033[31mtexture missing\033[0m in %s\n' "$n"; [ $((n % 5)) -ne 0 ]`)
	f.sub("-name", "sim_needs_much_memory", "-priority", "300", "-range", "1-10", "-reservations", "host.memory=4000GB", "true")
	f.sub("-name", hostile, "-priority", "400", "-range", "1-3", "sh", "-c", "printf '%s' \"$0\"", hostile)
	large := f.sub("-name", "crowd_sim_100k", "-status", "blocked", "-range", "1-100000", "true")
	loud := f.sub("-name", "loud", "-priority", "50", "-range", "1", "sh", "-c", `seq 1000000; head -c 100000 /dev/zero | tr "\0" x; echo; echo the end`)
	b := openTab(t, f)

	link := f.run("open")
	if !f.serves(link) || !strings.Contains(link, ".localhost:"+f.port+"/#code=qb_") {
		t.Fatalf("qb open prints %q", link)
	}
	b.do(t, chromedp.Navigate(link))
	b.see(t, "Slots in use")
	if address := js[string](t, b, `location.href`); strings.Contains(address, "code") {
		t.Errorf("the code stays in the address: %s", address)
	}
	b.see(t, "sim_needs_much_memory")
	for _, v := range []struct{ name, address, shows string }{
		{"farm", "#/", "Slots in use"}, {"jobs", "#/jobs", "crowd_sim_100k"}, {"job", "#/jobs/" + failing, "Items"}, {"job-running", "#/jobs/2", "running"}, {"job-large", "#/jobs/" + large, "blocked 100,000"},
		{"item", "#/jobs/" + failing + "/items/5", "texture missing"}, {"hosts", "#/hosts", "promised"}, {"submit", "#/submit", "Expert Mode"}, {"me", "#/me", "session of the page"},
	} {
		b.goTo(t, v.address)
		if v.name != "hosts" {
			b.see(t, v.shows)
		}
		time.Sleep(300 * time.Millisecond) // what comes after the first sight
		b.picture(t, v.name)
	}
	js[any](t, b, `document.querySelector('[aria-label="Dark or light"]').click()`)
	for _, v := range []struct{ name, address string }{{"farm-dark", "#/"}, {"jobs-dark", "#/jobs"}, {"job-dark", "#/jobs/" + failing}} {
		b.goTo(t, v.address)
		time.Sleep(300 * time.Millisecond) // what comes after the first sight
		b.picture(t, v.name)
	}
	b.goTo(t, "#/jobs/"+loud+"/items/1")
	b.see(t, "the end")
	b.see(t, "98,000 more characters")
	b.see(t, "The last 256 KiB of 6.7 MiB")
	b.picture(t, "loud")
	b.story(t, failing)
	b.truth(t, failing, 60)
	b.narrow(t, failing)
	if n := js[int](t, b, `document.querySelectorAll("*").length`); n > 2500 {
		t.Errorf("%d elements", n)
	}
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// story: an artist retries what failed, kills a job and takes that back, kills it after all, and submits one.
func (b *tab) story(t *testing.T, failing string) {
	t.Helper()
	b.goTo(t, "#/jobs?q=name%3Acomp+failed%3E3x")
	b.see(t, "column 18: 3x is not a number")
	b.goTo(t, "#/jobs/"+failing)
	b.press(t, "Retry 12 failed")
	b.see(t, "12 failed items run again")
	b.picture(t, "retry")
	b.press(t, "Retry failed")
	b.see(t, "12 affected")
	b.goTo(t, "#/jobs/2")
	b.press(t, "Kill")
	b.see(t, "qbkill 2")
	b.press(t, "Kill")
	b.press(t, "Undo")
	b.see(t, "nothing was sent")
	if status := b.run("jobs", "-no-headers", "-fields", "status", "2"); status != "running" {
		t.Errorf("a kill that was undone leaves the job %s", status)
	}
	b.press(t, "Kill")
	b.see(t, "qbkill 2")
	b.press(t, "Kill")
	b.until(t, "the kill", `document.querySelector(".state").innerText.includes("killed")`)
	b.goTo(t, "#/submit")
	b.see(t, "Expert Mode")
	js[any](t, b, `document.querySelector("input[type=checkbox]").click()`)
	b.see(t, "as many as the site allows")
	fill := func(name, value string) {
		js[any](t, b, `(() => { const e = document.querySelector("input[name=`+name+`]"); e.value = "`+value+`"; e.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	}
	fill("command", "echo from the page")
	fill("range", "1-5")
	fill("requirements", "host.memory >")
	b.picture(t, "expert")
	send := func() { js[any](t, b, `document.querySelector("form.page").requestSubmit()`) }
	send()
	b.see(t, "a value after > is missing at the end")
	fill("range", "1-")
	fill("priority", "x")
	send()
	b.until(t, "a field that is not sent", `document.querySelector("input[name=priority][aria-invalid]") !== null`)
	fill("priority", "")
	fill("requirements", "")
	send()
	b.until(t, "a refusal at its field", `document.querySelector("input[name=range][aria-invalid]") !== null`)
	b.picture(t, "refused")
	fill("range", "1-5")
	fill("requirements", "")
	send()
	b.until(t, "the submission", `/jobs\/\d+$/.test(location.hash)`)
	b.see(t, "100%")
}

// truth: each cell of the grid has the colour of the state that the rows have.
func (b *tab) truth(t *testing.T, job string, items int) {
	t.Helper()
	for _, wrong := range b.untrue(t, job, items) {
		t.Error(wrong)
	}
}

// untrue are the cells of the grid that have another colour.
func (b *tab) untrue(t *testing.T, job string, items int) (wrong []string) {
	t.Helper()
	b.goTo(t, "#/jobs/"+job)
	b.see(t, "complete")
	var rows []struct {
		Number       int
		Status, Kind string
	}
	b.until(t, "nothing runs", `(() => { const s = document.querySelector(".state"); return s && !s.innerText.includes("running"); })()`)
	if err := json.Unmarshal([]byte(b.run("items", job, "-json")), &rows); err != nil || len(rows) != items {
		t.Fatal(len(rows), err)
	}
	time.Sleep(time.Second) // the letters come a moment after the row of the job
	seen := js[[]string](t, b, `(() => {
		const canvas = document.querySelector(".grid canvas"), columns = Number(canvas.dataset.columns), size = Number(canvas.dataset.size), pen = canvas.getContext("2d");
		return Array.from({length: `+fmt.Sprint(items)+`}, (_, n) => "#" + [...pen.getImageData(n % columns * size + 1, Math.floor(n / columns) * size + 1, 1, 1).data].slice(0, 3).map(v => v.toString(16).padStart(2, "0")).join(""));
	})()`)
	colours := js[map[string]string](t, b, `Object.fromEntries(["pending", "running", "secondary", "complete", "failed", "killed", "blocked"].map(s => [s, getComputedStyle(document.documentElement).getPropertyValue("--s-" + s).trim()]))`)
	for _, row := range rows {
		state := row.Status
		if state == "running" && row.Kind == "secondary" {
			state = "secondary"
		}
		if seen[row.Number] != colours[state] {
			wrong = append(wrong, fmt.Sprintf("item %d is %s, its cell has the colour %s, not %s", row.Number, state, seen[row.Number], colours[state]))
		}
	}
	return wrong
}

// narrow looks at the views on a telephone.
func (b *tab) narrow(t *testing.T, job string) {
	t.Helper()
	b.do(t, chromedp.EmulateViewport(360, 740))
	for name, address := range map[string]string{"farm-360": "#/", "jobs-360": "#/jobs", "job-360": "#/jobs/" + job, "submit-360": "#/submit"} {
		b.goTo(t, address)
		time.Sleep(500 * time.Millisecond)
		if wide := js[int](t, b, `document.documentElement.scrollWidth`); wide > 360 {
			t.Errorf("%s is %d pixels wide", name, wide)
		}
		b.picture(t, name)
	}
}
