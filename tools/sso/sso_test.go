// Package sso_test logs people in to a real farm by real providers of OpenID Connect: the example of zitadel/oidc, a certified
// library, and dex, if QB_DEX names the program. The person is played by posting the forms of the providers' pages.
package sso_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
)

const (
	clientID, clientSecret, password = "qb", "a-secret-of-the-client", "password"

	patience = time.Minute
)

// provider is a real one, its configuration for the farm, and its pages as a person uses them.
type provider struct {
	issuer, claim string
	approve       func(t *testing.T, page, code, name string)
	stop          func()
}

// TestLogin: a person logs in from a workstation by the provider, is refused where qb does not know the person, and is refused
// again after being removed. Nobody waits for a provider that is gone.
func TestLogin(t *testing.T) {
	dir := t.TempDir()
	qb := filepath.Join(dir, "qb")
	build := exec.Command("go", "build", "-o", qb, "./cmd/qb")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, start := range map[string]func(*testing.T) provider{"zitadel": startZitadel, "dex": startDex} {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			f := startFarm(t, qb, p)
			f.must("admin", "user", "add", "ada", "-role", "user")

			w := f.workstation("ada")
			if code, out := w.login(func(page, code string) { p.approve(t, page, code, "ada") }); code != 0 || !strings.Contains(out, "as ada (user)") {
				t.Fatalf("login: code %d: %s", code, out)
			}
			if code, out := w.run("ping"); code != 0 || !strings.Contains(out, "you are ada (user)") {
				t.Errorf("ping: code %d: %s", code, out)
			}
			if code, out := f.workstation("bob").login(func(page, code string) { p.approve(t, page, code, "bob") }); code != 4 || !strings.Contains(out, "no user of this farm") {
				t.Errorf("a person who is no user: code %d: %s", code, out)
			}
			if code, out := f.workstation("quitter").login(nil); code == 0 || strings.Contains(out, "logged in") {
				t.Errorf("a login given up: code %d: %s", code, out)
			}
			if out := f.must("admin", "token", "list", "-json"); strings.Count(out, `"name":"ws"`) != 1 {
				t.Errorf("the tokens: %s", out)
			}
			f.must("admin", "user", "remove", "ada")
			if code, out := w.run("ping"); code != 4 {
				t.Errorf("a removed user: code %d: %s", code, out)
			}
			if code, out := w.login(func(page, code string) { p.approve(t, page, code, "ada") }); code != 4 {
				t.Errorf("a removed user logs in: code %d: %s", code, out)
			}
			trail := ""
			for until := time.Now().Add(patience); strings.Count(trail, `"verb":"sso-login"`) < 3 && time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
				trail = f.must("admin", "audit", "log", "-json")
			}
			if strings.Count(trail, `"verb":"sso-login"`) != 3 || !strings.Contains(trail, `"user":"bob"`) {
				t.Errorf("the trail: %s", trail)
			}
			p.stop()
			began := time.Now()
			if code, out := w.login(func(string, string) {}); code != 3 || !strings.Contains(out, "provider of single sign-on") || time.Since(began) > 20*time.Second {
				t.Errorf("without the provider: code %d after %s: %s", code, time.Since(began), out)
			}
			for _, secret := range []string{clientSecret, "qb_user_"} {
				if strings.Contains(f.log.String(), secret) {
					t.Errorf("the log of the farm holds %s", secret)
				}
			}
		})
	}
}

func startZitadel(t *testing.T) provider {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]*storage.User{}
	for _, name := range []string{"ada", "bob"} { // its ID tokens name the person by sub alone
		users[name] = &storage.User{ID: name, Username: name, Password: password, Email: name + "@studio.example", EmailVerified: true}
	}
	data, err := json.Marshal(users)
	file := filepath.Join(t.TempDir(), "users.json")
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	store, err := storage.StoreFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	storage.RegisterClients(storage.DeviceClient(clientID, clientSecret))
	issuer := "http://" + listener.Addr().String() + "/"
	server := &http.Server{Handler: exampleop.SetupServer(issuer, storage.NewStorage(store), slog.New(slog.DiscardHandler), false), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Close() })
	return provider{issuer: issuer, claim: "sub", stop: func() { server.Close() }, approve: func(t *testing.T, page, code, name string) {
		b := newBrowser(t)
		b.get(page)
		b.post(issuer+"device/login", url.Values{"user_code": {code}, "username": {name}, "password": {password}})
		if said := b.post(issuer+"device/confirm", url.Values{"action": {"allowed"}}); !strings.Contains(said, "allowed") {
			t.Errorf("the provider says %s", said)
		}
	}}
}

const dexConfig = `issuer: http://%s
storage: {type: memory}
web: {http: %[1]s}
oauth2: {skipApprovalScreen: false}
staticClients:
- {id: %s, secret: %s, name: qb, redirectURIs: [/device/callback]}
enablePasswordDB: true
staticPasswords:
- {email: ada@studio.example, username: ada, preferredUsername: ada, userID: "1", hash: "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W"}
- {email: bob@studio.example, username: bob, preferredUsername: bob, userID: "2", hash: "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W"}
`

func startDex(t *testing.T) provider {
	t.Helper()
	dex := os.Getenv("QB_DEX")
	if dex == "" {
		t.Skip("QB_DEX does not name dex: make sso DEX=…; go build ./cmd/dex in its repository makes it")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	file := filepath.Join(t.TempDir(), "dex.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, dexConfig, address, clientID, clientSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(dex, "serve", file)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(end)
	issuer := "http://" + address
	for until := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if resp, err := http.Get(issuer + "/.well-known/openid-configuration"); err == nil {
			resp.Body.Close()
			break
		}
		if time.Now().After(until) {
			end()
			t.Fatalf("dex does not answer:\n%s", said.String())
		}
	}
	return provider{issuer: issuer, claim: "preferred_username", stop: end, approve: func(t *testing.T, page, code, name string) {
		b := newBrowser(t)
		b.get(page)
		b.submit(url.Values{"user_code": {code}})
		b.submit(url.Values{"login": {name + "@studio.example"}, "password": {password}})
		if said := b.submit(url.Values{"approval": {"approve"}}); !strings.Contains(said, "Login Successful") {
			t.Errorf("the provider says %s", said)
		}
	}}
}

// browser follows redirects, keeps cookies and posts forms.
type browser struct {
	t      *testing.T
	client *http.Client
	at     *url.URL
	page   string
}

func newBrowser(t *testing.T) *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, client: &http.Client{Jar: jar, Timeout: patience}}
}

func (b *browser) get(address string) string { return b.took(b.client.Get(address)) }

func (b *browser) post(address string, form url.Values) string {
	return b.took(b.client.PostForm(address, form))
}

func (b *browser) took(resp *http.Response, err error) string {
	b.t.Helper()
	if err != nil {
		b.t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 400 {
		b.t.Errorf("%s: %s %v\n%s", resp.Request.URL, resp.Status, err, data)
	}
	b.at, b.page = resp.Request.URL, string(data)
	return b.page
}

var (
	actionPattern = regexp.MustCompile(`<form[^>]*action="([^"]*)"`)
	hiddenPattern = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)
)

// submit posts the first form of the page with these values and its hidden ones.
func (b *browser) submit(values url.Values) string {
	b.t.Helper()
	to := b.at
	if found := actionPattern.FindStringSubmatch(b.page); found != nil {
		if ref, err := b.at.Parse(html.UnescapeString(found[1])); err == nil {
			to = ref
		}
	}
	for _, hidden := range hiddenPattern.FindAllStringSubmatch(b.page, -1) {
		if values.Get(hidden[1]) == "" {
			values.Set(hidden[1], html.UnescapeString(hidden[2]))
		}
	}
	return b.post(to.String(), values)
}

// farm serves the network by TLS, with the provider in its configuration.
type farm struct {
	t                              *testing.T
	qb, dir, state, url, authority string
	log                            bytes.Buffer
}

func startFarm(t *testing.T, qb string, p provider) *farm {
	t.Helper()
	dir, err := os.MkdirTemp("", "qb-sso-")
	if err != nil || os.Chmod(dir, 0o711) != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	f := &farm{t: t, qb: qb, dir: dir, state: filepath.Join(dir, "farm")}
	secret, conf := filepath.Join(dir, "client-secret"), filepath.Join(dir, "qb.conf")
	text := fmt.Sprintf("supervisor_names = \"127.0.0.1\"\nsupervisor_oidc_issuer = %q\nsupervisor_oidc_client_id = %q\nsupervisor_oidc_client_secret_file = %q\nsupervisor_oidc_user_claim = %q\n",
		p.issuer, clientID, secret, p.claim)
	if err := errors.Join(os.WriteFile(secret, []byte(clientSecret+"\n"), 0o600), os.WriteFile(conf, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(qb, "farm", "-conf", conf, "-state", f.state, "-listen", "0.0.0.0:0", "-slots", "1")
	cmd.Stderr = &f.log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("log of the farm:\n%s", &f.log)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready https://") {
		t.Fatalf("the farm says %q, %v\n%s", line, err, &f.log)
	}
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(strings.TrimSpace(line), "ready https://"))
	f.url = "https://127.0.0.1:" + port
	f.authority = regexp.MustCompile(`[A-Za-z0-9_-]{43}`).FindString(f.must("ca", "show"))
	return f
}

// must is a command of the administrator.
func (f *farm) must(args ...string) string {
	f.t.Helper()
	cmd := exec.Command(f.qb, args...)
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_STATE="+f.state, "QB_SUPERVISOR_STATE="+f.state)
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("qb %v: %v %s", args, err, out)
	}
	return string(out)
}

// workstation is a machine of a person, without a farm.
type workstation struct {
	f    *farm
	home string
}

func (f *farm) workstation(name string) workstation {
	home := filepath.Join(f.dir, name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		f.t.Fatal(err)
	}
	return workstation{f, home}
}

func (w workstation) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.f.qb, args...)
	cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "HOME="+w.home, "XDG_CONFIG_HOME=", "QB_STATE=", "QB_TOKEN=")
	return cmd
}

func (w workstation) run(args ...string) (int, string) {
	cmd := w.command(args...)
	out, _ := cmd.CombinedOutput() // the code says what the error does
	return cmd.ProcessState.ExitCode(), string(out)
}

var shown = regexp.MustCompile(`(?s)open (\S+) in a browser.*the code is (\S+);`)

// login runs qb login until it ends; the person does what approve does, or gives up if it is nil.
func (w workstation) login(approve func(page, code string)) (int, string) {
	t := w.f.t
	t.Helper()
	cmd := w.command("login", w.f.url, "-fingerprint", w.f.authority, "-name", "ws")
	said, err := os.Create(filepath.Join(w.home, "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	read := func() string {
		data, err := os.ReadFile(said.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	acted := false
	for limit := time.After(patience); ; {
		select {
		case <-ended:
			return cmd.ProcessState.ExitCode(), read()
		case <-limit:
			_ = cmd.Process.Kill()
			<-ended
			t.Fatalf("qb login goes on: %s", read())
		case <-time.After(50 * time.Millisecond):
		}
		found := shown.FindStringSubmatch(read())
		if found == nil || acted {
			continue
		}
		acted = true
		if approve == nil {
			_ = cmd.Process.Signal(os.Interrupt)
		} else {
			approve(found[1], found[2])
		}
	}
}
