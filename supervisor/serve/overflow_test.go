package serve

import (
	"net/http"
	"testing"

	"qb/api"
)

// Numbers beyond what a row can hold are the caller's mistake, not the database's.
func TestOverflow(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	user, worker := r.token("u1", api.User), r.token("w", api.Worker)
	must[api.SubmitReply](t, r.client("u1", api.User), api.Submit, nil,
		api.SubmitRequest{Command: []string{"x"}, Range: "1-3"})
	for _, test := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/v1/jobs/1/items?after=9223372036854775807", "", 422}, {"GET", "/v1/jobs/1/items?after=2147483647", "", 422},
		{"GET", "/v1/jobs/1/items?after=2147483646", "", 200}, {"GET", "/v1/jobs/1/attempts?after=99999999999.1", "", 422},
		{"GET", "/v1/jobs/1/attempts?after=1.2147483648", "", 422},
		{"GET", "/v1/jobs/1/attempts?after=2147483647.1", "", 200},
		{"GET", "/v1/jobs/1/items/1/log?attempt=9223372036854775807", "", 404},
		{"GET", "/v1/jobs/1/items/1/log?offset=9223372036854775808", "", 422},
		{"GET", "/v1/jobs/9223372036854775807", "", 404}, {"GET", "/v1/jobs/9223372036854775808", "", 422},
		{"GET", "/v1/jobs?before=9223372036854775807", "", 200},
		{"POST", "/v1/logs", `{"attempt":{"job":1,"item":1099511627776,"number":1},"offset":0,"data":""}`, 422},
		{"POST", "/v1/logs", `{"attempt":{"job":1,"item":0,"number":1099511627776},"offset":0,"data":""}`, 422},
	} {
		token := user
		if test.method == http.MethodPost {
			token = worker
		}
		resp := r.raw(test.method, test.path, token, test.body, nil)
		if said := text(t, resp); resp.StatusCode != test.want {
			t.Errorf("%s %s %s: %d, want %d: %s", test.method, test.path, test.body, resp.StatusCode, test.want, said)
		}
	}
}
