package browser_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

const liveText = `(document.querySelector(".live")?.innerText ?? "")`

// rows are the numbers of the jobs in the list.
func (b *tab) rows(t *testing.T) []string {
	t.Helper()
	return js[[]string](t, b, `[...document.querySelectorAll(".row-line a")].map(a => a.innerText)`)
}

// listed are the numbers of the jobs that the farm has, the newest first.
func (f *farm) listed() []string {
	f.t.Helper()
	ids := strings.Fields(f.run("jobs", "-user", "all", "-no-headers", "-fields", "id"))
	slices.SortFunc(ids, func(a, b string) int { return len(b)*100 + strings.Compare(b, a) - len(a)*100 })
	return ids
}

// database sends a statement to the farm's Postgres.
func (f *farm) database(statement string) {
	f.t.Helper()
	var file struct {
		URL string `json:"database_url"`
	}
	text, err := os.ReadFile(filepath.Join(f.state, "farm.json"))
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	if out, err := exec.Command("psql", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, file.URL).CombinedOutput(); err != nil {
		f.t.Fatalf("%s: %v %s", statement, err, out)
	}
}

// TestPageCutOff: the page says within 3 s that the supervisor was killed and how old the picture is; it takes up the one that is
// started again, with each job once. One that hangs is noticed too.
func TestPageCutOff(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "4")
	for n := range 12 {
		f.sub("-name", fmt.Sprint("shot_", n), "-range", "1-20", "-status", "blocked", "true")
	}
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/jobs")
	b.see(t, "shot_11")
	before := b.rows(t)
	js[any](t, b, `globalThis.told = 0, setInterval(() => { if (!told && `+liveText+`.startsWith("cut off")) told = Date.now(); }, 20)`)
	killed := time.Now()
	f.end(syscall.SIGKILL)
	b.until(t, "word of the end", `told > 0`)
	if took := time.UnixMilli(js[int64](t, b, `told`)).Sub(killed); took > 3*time.Second {
		t.Errorf("the page says only after %s that it is cut off", took)
	}
	b.until(t, "the age of the picture", `/cut off, [1-9]\d* s old/.test(`+liveText+`) && document.querySelector(".banner")?.innerText.includes("s old")`)
	b.picture(t, "cut-off")
	f.start("127.0.0.1:" + f.port)
	b.until(t, "the restarted one", liveText+` === "live"`)
	f.sub("-name", "after", "-range", "1-3", "-status", "blocked", "true")
	b.see(t, "after")
	if got, want := b.rows(t), f.listed(); !slices.Equal(got, want) || len(got) != len(before)+1 {
		t.Errorf("the page has the jobs %v, the farm has %v", got, want)
	}
	_ = f.process.Process.Signal(syscall.SIGSTOP)
	b.until(t, "word of a supervisor that hangs", liveText+`.startsWith("cut off")`)
	_ = f.process.Process.Signal(syscall.SIGCONT)
	b.until(t, "that it goes on", liveText+` === "live"`)
	if got, want := b.rows(t), f.listed(); !slices.Equal(got, want) {
		t.Errorf("then the page has the jobs %v, the farm has %v", got, want)
	}
}

// TestPageFullDisk: a farm that can write nothing says so, and what would change it is off with the reason until it can.
func TestPageFullDisk(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "2")
	job := f.sub("-name", "long", "-range", "1-9", "-status", "blocked", "sleep", "600")
	b := openTab(t, f)
	b.logIn(t)
	f.database(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$; ` +
		`CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE OR DELETE ON job FOR EACH STATEMENT EXECUTE FUNCTION full_disk()`)
	submit := exec.Command(f.qb, "sub", "-range", "1", "true")
	submit.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+f.state)
	if err := submit.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = submit.Process.Kill(); _ = submit.Wait() }()
	b.see(t, "The farm is read-only")
	for _, address := range []string{"#/jobs/" + job, "#/jobs/" + job + "/items/1"} {
		b.goTo(t, address)
		b.until(t, "a button that is off, with the reason", `(() => { const e = [...document.querySelectorAll("main button")].find(e => e.innerText.startsWith("Kill")); return Boolean(e?.disabled && e.title.includes("read-only")); })()`)
	}
	b.picture(t, "read-only")
	b.goTo(t, "#/submit")
	b.until(t, "no submission", `document.querySelector("main button.primary")?.disabled === true`)
	f.database(`DROP TRIGGER full_disk ON job`)
	b.until(t, "the end of the banner", `!document.body.innerText.includes("The farm is read-only")`)
	b.until(t, "the button again", `document.querySelector("main button.primary")?.disabled === false`)
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// TestPageRevoked: a session that ends while a form is filled leads to the form of the log-in within 60 s. By TLS a token logs in there, and what
// was typed is kept, also when the page is loaded again.
func TestPageRevoked(t *testing.T) {
	t.Parallel()
	f := newFarm(t, "-slots", "2")
	f.env = append(f.env, "QB_SUPERVISOR_NAMES=127.0.0.1")
	f.start("0.0.0.0:0")
	f.adminToken, _, _ = strings.Cut(f.run("admin", "token", "create", "-user", "root", "-role", "admin"), ".")
	b := openTab(t, f, chromedp.Flag("ignore-certificate-errors", true))
	b.logIn(t)
	b.goTo(t, "#/submit")
	b.fill(t, "name", "typed_before")
	b.fill(t, "range", "1-77")
	b.see(t, "77 items")
	began := time.Now()
	f.run("admin", "token", "revoke", f.session())
	b.until(t, "the form of the log-in", `document.querySelector(".login") !== null`)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("a revoked session is noticed after %s", took)
	}
	b.picture(t, "revoked")
	js[any](t, b, fmt.Sprintf(`(() => { const e = document.querySelector(".login input"); e.value = %q; e.dispatchEvent(new Event("input", {bubbles: true})); })()`, f.adminToken))
	b.press(t, "Log in")
	const typed = `document.querySelector("main input[name=name]")?.value === "typed_before" && document.querySelector("main input[name=range]")?.value === "1-77"`
	b.until(t, "what was typed", typed)
	b.do(t, chromedp.Reload())
	b.until(t, "the form of the log-in", `document.querySelector(".login input") !== null`)
	b.do(t, chromedp.Navigate(f.run("open", "#/submit")))
	b.until(t, "what was typed, after the page was loaded again", typed)
}

// session is the id of the only session of the page.
func (f *farm) session() string {
	f.t.Helper()
	var tokens []struct {
		ID        string
		SessionOf string `json:"session_of"`
		UsesLeft  *int   `json:"uses_left"`
		Revoked   bool
	}
	if err := json.Unmarshal([]byte(f.run("admin", "token", "list", "-json")), &tokens); err != nil {
		f.t.Fatal(err)
	}
	for _, one := range tokens {
		if one.SessionOf != "" && one.UsesLeft == nil && !one.Revoked {
			return one.ID
		}
	}
	f.t.Fatal("there is no session")
	return ""
}

// TestPageForOneDocument: a page that is loaded again, and one in another tab, have no session and no form for a token; its links are followed in
// the tab; and the link of qb open leads to a view and works once.
func TestPageForOneDocument(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "2")
	job := f.sub("-name", "for_one", "-range", "1-3", "-status", "blocked", "true")
	b := openTab(t, f)
	link := f.run("open", job)
	b.do(t, chromedp.Navigate(link))
	b.see(t, "for_one")
	if got := js[string](t, b, `location.hash`); got != "#/jobs/"+job {
		t.Errorf("the link leads to %s", got)
	}
	if got := js[int](t, b, `localStorage.length + sessionStorage.length + document.cookie.length`); got != 0 {
		t.Errorf("the page leaves %d things in the browser", got)
	}
	js[any](t, b, `document.querySelector("nav a[href='#/hosts']").dispatchEvent(new MouseEvent("click", { ctrlKey: true, bubbles: true, cancelable: true }))`)
	b.until(t, "the view in this tab", `location.hash === "#/hosts"`)
	at := js[string](t, b, `location.href`)
	for what, address := range map[string]string{"another tab": at, "the link again": link, "the usual address": f.url} {
		other := b.another(t)
		other.do(t, chromedp.Navigate(address))
		other.until(t, what, `document.querySelector(".login") !== null && document.querySelector(".login input") === null`)
		other.see(t, "Run qb open")
		other.close(t)
	}
	b.until(t, "the hosts: the first tab goes on", liveText+` === "live" && document.querySelector(".row-line") !== null`)
	b.do(t, chromedp.Reload())
	b.see(t, "qb open '#/hosts'")
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// TestPageClock: with a clock that is a day ahead, ages and times are those of the farm.
func TestPageClock(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "2")
	job := f.sub("-name", "young", "-range", "1-2", "sleep", "600")
	b := openTab(t, f)
	if _, err := chromedp.Call(b.ctx, cdpage.AddScriptToEvaluateOnNewDocument, cdpage.AddScriptToEvaluateOnNewDocumentParams{Source: `Date = class extends Date { constructor(...given) { given.length ? super(...given) : super(Date.now()); } static now() { return super.now() + 86_400_000; } }`}); err != nil {
		t.Fatal(err)
	}
	b.logIn(t)
	if js[int64](t, b, `Date.now()`) < time.Now().Add(20*time.Hour).UnixMilli() {
		t.Fatal("the clock is not ahead")
	}
	for _, address := range []string{"#/jobs", "#/jobs/" + job, "#/jobs/" + job + "/items/1", "#/me"} {
		b.goTo(t, address)
		time.Sleep(time.Second)
		if text := js[string](t, b, `document.querySelector("main").innerText`); strings.Contains(text, "1 d ") || strings.Contains(text, "24 h") || strings.Contains(text, "expired") {
			t.Errorf("%s: with a clock a day ahead the page says\n%s", address, text)
		}
	}
}

// TestPageUpgrade: a tab from before an upgrade goes on, says that there is another version of the page, and loads it.
func TestPageUpgrade(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "2")
	f.sub("-name", "through_the_upgrade", "-range", "1-9", "-status", "blocked", "true")
	b := openTab(t, f)
	b.logIn(t)
	f.end(syscall.SIGTERM)
	f.qb = changed(t, "upgraded", "tokens.css", func(text string) string { return text + ":root { --of-the-next-version: 1; }\n" })
	f.start("127.0.0.1:" + f.port)
	b.see(t, "another version of this page")
	b.goTo(t, "#/jobs")
	b.see(t, "through_the_upgrade")
	b.goTo(t, "#/fairshare") // a module that this tab has not loaded yet
	b.see(t, "cannot be loaded")
	b.picture(t, "upgraded")
	b.see(t, "Run qb open for it")
	b.do(t, chromedp.Navigate(f.run("open", "#/fairshare")))
	b.until(t, "the new page", `document.body?.innerText.includes("Submit") && !document.body.innerText.includes("another version") && `+liveText+` === "live" && getComputedStyle(document.documentElement).getPropertyValue("--of-the-next-version") !== ""`)
	b.see(t, "Who is served first")
}

// TestPageStopped: a browser that was stopped for a minute, as a laptop that slept, has all rows again.
func TestPageStopped(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "4")
	f.sub("-name", "busy", "-range", "1-100000", "-max_cpus", "4", "true")
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/jobs")
	b.see(t, "busy")
	b.signal(t, syscall.SIGSTOP)
	for n := range 3 {
		f.sub("-name", fmt.Sprint("meanwhile_", n), "-range", "1-20", "-status", "blocked", "true")
	}
	time.Sleep(time.Minute)
	b.signal(t, syscall.SIGCONT)
	b.see(t, "meanwhile_2")
	b.until(t, "the page is live", liveText+` === "live"`)
	if got, want := b.rows(t), f.listed(); !slices.Equal(got, want) {
		t.Errorf("the page has the jobs %v, the farm has %v", got, want)
	}
}

// signal goes to all processes of the browser.
func (b *tab) signal(t *testing.T, what syscall.Signal) {
	t.Helper()
	first := chromedp.FromContext(b.ctx).Browser.Process().Pid
	parents := map[int]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, _ := os.ReadFile(path) // the process may have ended
		_, rest, _ := strings.Cut(string(text), ") ")
		var state string
		var pid, parent int
		fmt.Sscan(filepath.Base(filepath.Dir(path)), &pid)
		fmt.Sscan(rest, &state, &parent)
		parents[pid] = parent
	}
	for pid := range parents {
		for at := pid; at > 1; at = parents[at] {
			if at == first {
				_ = syscall.Kill(pid, what)
				break
			}
		}
	}
}

// TestPageHugeLog: an item with 256 MB of output in lines of 1 MB is shown from its end, with bounded memory and no long stall.
func TestPageHugeLog(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "1")
	job := f.sub("-name", "huge", "-range", "1", "sh", "-c", `for n in $(seq 255); do head -c 1000000 /dev/zero | tr "\0" x; echo; done; echo the last line`)
	b := openTab(t, f)
	b.logIn(t)
	b.goTo(t, "#/jobs/"+job)
	for end := time.Now().Add(4 * time.Minute); !strings.Contains(f.ask(http.MethodGet, "/v1/jobs/"+job+"/items/1/log?tail=100", ""), "the last line"); time.Sleep(time.Second) {
		if time.Now().After(end) {
			t.Fatal("the output has not arrived")
		}
	}
	b.goTo(t, "#/jobs/"+job+"/items/1")
	b.see(t, "the last line")
	b.see(t, "The last 256 KiB of 243 MiB")
	if n := js[int](t, b, `document.querySelectorAll("*").length`); n > 1500 {
		t.Errorf("%d elements", n)
	}
	if n := js[int](t, b, `performance.memory.usedJSHeapSize`); n > 60<<20 {
		t.Errorf("the page holds %d bytes", n)
	}
	for _, wrong := range b.wrongs {
		t.Error(wrong)
	}
}

// TestPageStandby: a page whose supervisor has become a standby names the leader, and is live when that is gone.
func TestPageStandby(t *testing.T) {
	t.Parallel()
	holder := newFarm(t, "-hosts", "0") // for its Postgres
	holder.start("127.0.0.1:0")
	holder.database(`CREATE DATABASE standby_test`)
	database := fmt.Sprintf("QB_DATABASE_URL=postgres:///standby_test?host=%s&port=5432&sslmode=disable&user=qb", strings.ReplaceAll(filepath.Join(holder.state, "run"), "/", "%2F"))
	leader, standby := newFarm(t), newFarm(t)
	for _, s := range []*farm{leader, standby} {
		s.args, s.env = []string{"supervisor"}, []string{database, "QB_SUPERVISOR_KEY_FILE=" + filepath.Join(holder.state, "farm.key")}
	}
	leader.start("127.0.0.1:0")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close() // the standby has its port now
	standby.url = "http://" + free.Addr().String()
	standby.launch(free.Addr().String())
	leader.sub("-name", "before_the_takeover", "-range", "1-9", "-status", "blocked", "true")
	b := openTab(t, leader)
	b.logIn(t)
	leader.end(syscall.SIGTERM)
	for end := time.Now().Add(patience); standby.ping() != nil; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the standby never leads")
		}
	}
	leader.launch("127.0.0.1:" + leader.port)
	b.see(t, standby.url)
	b.picture(t, "standby")
	standby.end(syscall.SIGKILL)
	b.until(t, "the takeover", liveText+` === "live"`)
	b.goTo(t, "#/jobs")
	b.see(t, "before_the_takeover")
	if got := b.rows(t); len(got) != 1 {
		t.Errorf("after the takeover the page has the jobs %v", got)
	}
}

// ping says whether the farm leads.
func (f *farm) ping() error {
	cmd := exec.Command(f.qb, "ping")
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+f.state)
	return cmd.Run()
}
