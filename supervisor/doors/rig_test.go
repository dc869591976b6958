package doors

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/lead/farmkey"
	"qb/supervisor/serve"
	"qb/supervisor/store/pgcluster"
	"qb/supervisor/store/postgres"
	"qb/supervisor/wire/openjdjobs"
	"qb/supervisor/wire/settings"
)

const (
	owner    = "nobody" // every Unix has this user
	patience = time.Minute
)

// rig is a supervisor on a database of its own, with its doors open.
type rig struct {
	t      *testing.T
	farm   serve.Inside
	url    string
	door   string // the address of the Flamenco door
	store  *postgres.Store
	key    farmkey.Key
	config settings.Config
}

func startRig(t *testing.T, change func(*settings.Config)) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "qb") // the server may run as another user, who cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cluster, err := pgcluster.Start(t.Context(), pgcluster.Config{State: dir, Fast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Stop(context.Background()) }) // the folder is removed, whatever is left
	r := &rig{t: t, key: farmkey.New(), config: settings.DefaultConfig()}
	if r.store, err = postgres.Open(t.Context(), cluster.URL(), postgres.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.store.Close)
	r.config.Listen, r.config.State = "127.0.0.1:0", dir
	r.config.FlamencoListen, r.config.FlamencoOwner = "127.0.0.1:0", owner
	r.config.FlamencoStorage = map[string]string{"linux": "/mnt/jobs", "windows": `J:\jobs`, "darwin": "/Volumes/jobs"}
	change(&r.config)
	r.run()
	return r
}

func (r *rig) run() {
	r.t.Helper()
	ready := make(chan string, 1)
	options := serve.Options{Store: r.store, Key: r.key, Version: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Ready: func(url string) { ready <- url },
		Doors: func(farm serve.Inside) ([]serve.Door, error) {
			r.farm = farm
			doors, err := Open(farm)
			for _, d := range doors {
				if found := regexp.MustCompile(`http://\S+`).FindString(d.Said()); found != "" {
					r.door = found
				}
			}
			return doors, err
		}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve.Run(ctx, r.config, options) }()
	r.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			r.t.Errorf("stopping: %v", err)
		}
	})
	select {
	case r.url = <-ready:
	case err := <-ended:
		ended <- err
		r.t.Fatalf("the supervisor did not begin: %v", err)
	}
}

// admin calls the farm as an admin.
func (r *rig) admin(e api.Endpoint, params api.Params, in, out any) {
	r.t.Helper()
	text, _, err := credentials.Make(r.t.Context(), r.key, r.store,
		credentials.Request{User: "boss", Role: api.Admin, Days: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := api.NewClient(r.url, text)
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.CloseIdle()
	if err := c.Call(r.t.Context(), e, params, in, out); err != nil {
		r.t.Fatalf("%s: %v", e.ID, err)
	}
}

// jobs are all that the farm has.
func (r *rig) jobs() (all []api.Job) {
	r.t.Helper()
	r.admin(api.ListJobs, nil, nil, &all)
	return all
}

// ask sends a request to the door as it is.
func (r *rig) ask(method, path, body string, header http.Header) (status int, answer string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.door+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if host := header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func decode[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// mustType is the job type that siteTypes has written.
func mustType(t *testing.T, folder string) api.JobType {
	t.Helper()
	found, err := openjdjobs.FindType(folder, "ours")
	if err != nil {
		t.Fatal(err)
	}
	return found
}
