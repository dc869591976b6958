package serve

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/api/pin"
	"qb/supervisor/access/credentials"
	"qb/supervisor/wire/settings"
)

// TestNobody: without a valid credential only the endpoints that rights lists answer, over TCP and over TLS, for every
// method and path. Users with a valid credential are not disturbed meanwhile.
func TestNobody(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	good := r.token("u1", api.User)
	parts, _ := credentials.Parse(good)
	// with the methods that anyone may use
	paths := map[string]string{"/": "", "/nothing": "", "/v1": "", "/v1/jobs/../tokens": ""}
	for _, e := range api.Endpoints {
		right, _ := rightsTo(e)
		if path := pathFor(e, "1"); strings.Contains(right.roles, "-") {
			paths[path] += strings.Join(methods(e), " ") + " "
		} else {
			paths[path] += ""
		}
	}
	for _, c := range nobodies(t, r) {
		for path, may := range paths {
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "QB"} {
				resp := r.raw(method, path, c.token, "", nil)
				resp.Body.Close()
				if strings.Contains(may, method+" ") { // this farm has no single sign-on, and so many tries are too many
					// it lacks its nonce
					proof := strings.HasSuffix(path, "/proof") && resp.StatusCode == http.StatusUnprocessableEntity
					if resp.StatusCode != http.StatusOK && !proof &&
						(method != "POST" || resp.StatusCode != http.StatusConflict && resp.StatusCode != http.StatusBadRequest &&
							resp.StatusCode != http.StatusTooManyRequests) {
						t.Errorf("%s answers %s with %d", path, method, resp.StatusCode)
					}
				} else if !answered(api.KindUnauthorized, resp.StatusCode) {
					t.Errorf("%s %s with credential %q: status %d", method, path, c.name, resp.StatusCode)
				}
			}
		}
	}
	if resp := r.raw("GET", "/v1/ping", good, "", nil); resp.StatusCode != http.StatusOK {
		t.Errorf("a good token is refused (%d) since bad ones were tried", resp.StatusCode)
	}
	if strings.Contains(r.log.String(), parts.Secret) {
		t.Error("the log holds a secret")
	}
}

// open are the paths that anyone may read.
func open() (paths []string) {
	for _, e := range api.Endpoints {
		if right, _ := rightsTo(e); strings.Contains(right.roles, "-") && e.Method == http.MethodGet {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// oddTargets are ways to write paths that a guard and a router might read differently.
func oddTargets(host string) (all []string) {
	for _, closed := range []string{"/v1/jobs", "/v1/tokens", "/metrics", "/v1/events"} {
		all = append(all, closed+"/", "/"+closed, strings.Replace(closed, "/v1/", "/v1//", 1), "/."+closed, closed+"/.",
			closed+"%20", closed+"%00", closed+";x=1", closed+"?token=x",
			"/%76%31"+strings.TrimPrefix(closed, "/v1"), strings.ToUpper(closed), "/x/.."+closed, "/x/%2e%2e"+closed,
			"\\"+closed,
			"http://"+host+closed, "http://evil.example"+closed, "HTTP://"+host+closed, "https://"+host+closed,
			"http://user:pw@"+host+closed, "//"+host+closed, "file://"+closed)
		for _, path := range open() {
			all = append(all, path+"/.."+closed, path+"/%2e%2e"+closed, path+"/..%2f"+closed[1:], path+"%00"+closed,
				path+"%2f.."+closed, path+"/"+closed, path+"?"+closed, path+"#"+closed, path+";"+closed, path+"%3f"+closed)
		}
	}
	for _, path := range open() {
		all = append(all, "/%"+"68ealthz", path+"/", "/"+path, path+"%00", path+"%2f")
	}
	return append(all, "*", "/", "", "/../", "/v1/jobs/1/items/..%2f..%2fx/log")
}

// oddHeaders are what proxies believe and a supervisor must not.
var oddHeaders = []string{
	"X-Forwarded-For: 127.0.0.1", "X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1", "X-Forwarded-User: root",
	"Remote-User: root", "X-Remote-User: root",
	"X-Original-URL: /healthz", "X-Rewrite-URL: /healthz", "X-HTTP-Method-Override: GET", "X-Forwarded-Host: 127.0.0.1",
	"Authorization: Basic cm9vdDpyb290", "Authorization: Bearer", "Authorization: Bearer ",
	"Authorization: Negotiate AAAA", "Cookie: token=qb_admin_0123456789abcdef_x",
	"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
	"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk",
	"Connection: Authorization", "Expect: 100-continue",
}

// TestAttackAnonymous: requests that are written in odd ways, by hand, get neither an effect nor a word of the farm.
func TestAttackAnonymous(t *testing.T) {
	for name, network := range map[string]rigOption{"TCP": func(*settings.Config, *Options) {}, "TLS": onTheNetwork} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startRig(t, network)
			const canary = "canary-of-a-job"
			admin := r.client("boss", api.Admin)
			must[api.SubmitReply](t, admin, api.Submit, nil,
				api.SubmitRequest{Name: canary, Command: []string{"true"}, Status: "blocked"})
			_, host, _ := strings.Cut(r.url, "://")
			var requests []string
			for _, method := range []string{"GET", "POST", "OPTIONS"} {
				for _, target := range oddTargets(host) {
					requests = append(requests, method+" "+target+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
				}
			}
			for _, header := range oddHeaders {
				for _, method := range []string{"GET", "POST", "CONNECT"} {
					requests = append(requests, method+" /v1/jobs HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n"+
						header+"\r\n\r\n")
				}
			}
			const body = `{"command":["true"],"name":"` + canary + `"}`
			requests = append(requests,
				"CONNECT "+host+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n", "CONNECT /v1/jobs HTTP/1.1\r\nHost: "+
					host+"\r\nConnection: close\r\n\r\n",
				"GET /v1/jobs HTTP/1.0\r\n\r\n", "GET /v1/jobs\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
				"GET /v1/jobs HTTP/3.0\r\nHost: "+host+"\r\n\r\n",
				"GET /v1/jobs HTTP/1.1\r\nHost: "+host+"\r\nHost: evil.example\r\n\r\n", "GET /v1/jobs HTTP/1.1\r\n\r\n",
				"\r\n\r\n", "\x16\x03\x01\x00\x05hello",
				"POST /healthz HTTP/1.1\r\nHost: "+host+
					"\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\nPOST /v1/jobs HTTP/1.1\r\n\r\n",
				"POST /v1/jobs HTTP/1.1\r\nHost: "+host+"\r\nContent-Length: -1\r\n\r\n"+body, "POST /v1/jobs HTTP/1.1\r\nHost: "+
					host+
					"\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"+body,
			)
			for _, request := range requests {
				answer := say(t, r, request)
				line, _, _ := strings.Cut(answer, "\r\n")
				_, status, _ := strings.Cut(line, " ")
				line, _, _ = strings.Cut(request, "\r\n")
				if strings.Contains(answer, canary) || strings.HasPrefix(status, "3") || strings.HasPrefix(status, "1") ||
					strings.HasPrefix(status, "5") && !strings.HasPrefix(status, "505") && !strings.HasPrefix(status, "501") {
					t.Errorf("%q is answered %.200q", line, answer)
				}
				if strings.HasPrefix(status, "2") && !isOpen(line) {
					t.Errorf("%q is answered %s", line, status)
				}
			}
			if jobs := must[[]api.Job](t, admin, api.ListJobs, nil, nil); len(jobs) != 1 {
				t.Errorf("%d jobs", len(jobs))
			}
			t.Logf("%d requests", len(requests))
		})
	}
}

// isOpen says whether a request line reads what anyone may read.
func isOpen(line string) bool {
	words := strings.Split(line, " ")
	if len(words) != 3 || words[0] != "GET" && words[0] != "HEAD" {
		return false
	}
	path, _, _ := strings.Cut(words[1], "?")
	path, _, _ = strings.Cut(path, "#")
	return slices.Contains(open(), path)
}

// say sends text as it is and returns the beginning of the answer.
func say(t *testing.T, r *rig, text string) string {
	t.Helper()
	scheme, address, _ := strings.Cut(r.url, "://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if scheme == "https" {
		conn = tls.Client(conn, pin.NewSet([]string{fingerprintOf(t, r)}, nil).Config())
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, text); err != nil {
		return "" // it was cut off
	}
	answer, _ := io.ReadAll(io.LimitReader(bufio.NewReader(conn), 64<<10))
	return string(answer)
}
