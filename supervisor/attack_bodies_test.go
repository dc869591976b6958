package supervisor

import (
	"fmt"
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
		"arrays": deep("[", "]"), "objects": deep(`{"a":`, "") + "1" + strings.Repeat("}", 100_000), "in a member": `{"command":` + deep("[", "]") + `}`,
		"doubled": `{"command":["true"],"command":["false"]}`, "re-cased": `{"Command":["true"],"COMMAND":["false"]}`, "folded": `{"ſhell":true,"command":["true"]}`,
		"unknown": `{"command":["true"],"root":true}`, "wrong type": `{"command":"true"}`, "number": `{"command":["true"],"cpus":"2"}`,
		"NaN": `{"command":["true"],"cpus":NaN}`, "infinite": `{"command":["true"],"cpus":Infinity}`, "10^23": `{"command":["true"],"cpus":1e23}`,
		"1.5": `{"command":["true"],"cpus":1.5}`, "negative": `{"command":["true"],"cpus":-1}`, "2^63": `{"command":["true"],"priority":9223372036854775808}`,
		"lone surrogate": `{"command":["\ud800"],"name":"\udc00"}`, "bad UTF-8": "{\"command\":[\"\xff\xfe\"]}", "NUL": `{"command":["a\u0000b"]}`,
		"BOM": "\ufeff{\"command\":[\"true\"]}", "trailing": `{"command":["true"]} {"command":["true"]}`, "cut": `{"command":["true"`, "null": "null",
		"empty": "", "blank": "  ", "array": "[]", "text": `"x"`, "17 MB": `{"command":["` + strings.Repeat("x", 17<<20) + `"]}`,
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
	zipped := r.raw("POST", "/v1/jobs", token, "\x1f\x8b\x08\x00nonsense", http.Header{"Content-Encoding": {"gzip"}})
	if zipped.StatusCode < 400 || zipped.StatusCode >= 500 {
		t.Errorf("gzip: %d", zipped.StatusCode)
	}
	if got := r.raw("GET", "/healthz", "", "", nil).StatusCode; got != http.StatusOK {
		t.Errorf("afterwards the farm's health is %d", got)
	}
}
