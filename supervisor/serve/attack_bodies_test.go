package serve

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"qb/api"
)

// TestAttackBodies: whatever a body is made of, it is refused in words or taken, and the farm goes on.
func TestAttackBodies(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	token := r.token("mallory", api.User)
	deep := func(open, shut string) string { return strings.Repeat(open, 100_000) + strings.Repeat(shut, 100_000) }
	bodies := map[string]string{
		"arrays": deep("[", "]"), "objects": deep(`{"a":`, "") + "1" + strings.Repeat("}", 100_000),
		"in a member": `{"command":` + deep("[", "]") + `}`,
		"doubled":     `{"command":["true"],"command":["false"]}`, "re-cased": `{"Command":["true"],"COMMAND":["false"]}`,
		"folded":  `{"ſhell":true,"command":["true"]}`,
		"unknown": `{"command":["true"],"root":true}`, "wrong type": `{"command":"true"}`,
		"number": `{"command":["true"],"cpus":"2"}`,
		"NaN":    `{"command":["true"],"cpus":NaN}`, "infinite": `{"command":["true"],"cpus":Infinity}`,
		"10^23": `{"command":["true"],"cpus":1e23}`,
		"1.5":   `{"command":["true"],"cpus":1.5}`, "negative": `{"command":["true"],"cpus":-1}`,
		"2^63":           `{"command":["true"],"priority":9223372036854775808}`,
		"lone surrogate": `{"command":["\ud800"],"name":"\udc00"}`, "bad UTF-8": "{\"command\":[\"\xff\xfe\"]}",
		"NUL": `{"command":["a\u0000b"]}`,
		"BOM": "\ufeff{\"command\":[\"true\"]}", "trailing": `{"command":["true"]} {"command":["true"]}`,
		"cut": `{"command":["true"`, "null": "null",
		"empty": "", "blank": "  ", "array": "[]", "text": `"x"`, "17 MB": `{"command":["` +
			strings.Repeat("x", 17<<20) + `"]}`,
		"names": fmt.Sprintf(`{"command":["true"],"env":{%s}}`, strings.TrimSuffix(strings.Repeat(`"":"",`, 100), ",")),
	}
	for name, body := range bodies {
		for _, kind := range []string{"application/json", "text/plain", "application/x-www-form-urlencoded"} {
			resp := r.raw("POST", "/v1/jobs", token, body, http.Header{"Content-Type": {kind}})
			if resp.StatusCode >= 500 {
				t.Errorf("%s as %s: %d", name, kind, resp.StatusCode)
			}
			resp.Body.Close()
		}
	}
	made := r.raw("POST", "/v1/jobs", token, `{"command":["true"]}`, http.Header{"Content-Type": {"application/json"}})
	made.Body.Close()
	for path, body := range map[string]string{"/v1/jobs/1/orders/retry": `{"host":"\u0000"}`,
		"/v1/jobs/1/orders/block": `{"host":"a\u0000"}`} {
		resp := r.raw("POST", path, token, body, http.Header{"Content-Type": {"application/json"}})
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode >= 500 || resp.StatusCode < 400 {
			t.Errorf("POST %s %s: %d %s", path, body, resp.StatusCode, text)
		}
	}
	for _, address := range []string{"/v1/jobs?user=%00", "/v1/jobs?label=a%00", "/v1/hosts?host=%00",
		"/v1/events?host=%00"} {
		resp := r.raw("GET", address, token, "", nil)
		if resp.Body.Close(); resp.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("GET %s: %d", address, resp.StatusCode)
		}
	}
	zipped := r.raw("POST", "/v1/jobs", token, "\x1f\x8b\x08\x00nonsense", http.Header{"Content-Encoding": {"gzip"}})
	if zipped.StatusCode < 400 || zipped.StatusCode >= 500 {
		t.Errorf("gzip: %d", zipped.StatusCode)
	}
	if got := r.raw("GET", "/healthz", "", "", nil).StatusCode; got != http.StatusOK {
		t.Errorf("afterwards the farm's health is %d", got)
	}
}
