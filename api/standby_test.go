package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"qb/api"
)

func serving(t *testing.T, status int, standby string) *api.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" && r.URL.Path == api.Health.Path {
			t.Error("the question who leads shows a credential")
		}
		if !r.Close && r.URL.Path == api.Health.Path {
			t.Error("the question who leads leaves a connection behind that may be closed under the next call")
		}
		if standby != "" {
			w.Header().Set(api.StandbyHeader, standby)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	c, err := api.NewClient(server.URL, "secret")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Of several addresses the leader's is found, wherever it is; where none leads, an address that answers.
func TestLocate(t *testing.T) {
	leader, standby := serving(t, 200, ""), serving(t, 503, "unknown")
	gone, err := api.NewClient("http://127.0.0.1:1", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		clients []*api.Client
		want    int
		fails   bool
	}{
		{[]*api.Client{leader, standby, gone}, 0, false},
		{[]*api.Client{gone, standby, leader}, 2, false},
		{[]*api.Client{gone, standby}, 1, false},
		{[]*api.Client{gone, serving(t, 503, "")}, -1, true},
	} {
		if got, err := api.Locate(t.Context(), c.clients); got != c.want || (err != nil) != c.fails {
			t.Errorf("found %d, %v; want %d", got, err, c.want)
		}
	}
}

func TestStandbyRefusal(t *testing.T) {
	err := serving(t, 503, "http://127.0.0.1:9").Call(t.Context(), api.ListJobs, nil, nil, nil)
	if !api.IsStandby(err) || api.ExitCode(err) != 3 {
		t.Errorf("a standby's refusal is %v", err)
	}
	if err := serving(t, 503, "").Call(t.Context(), api.ListJobs, nil, nil, nil); api.IsStandby(err) {
		t.Error("a refusal whose outcome is not known counts as a standby's")
	}
}
