package serve

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/farm"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/term"
	"qb/supervisor/store/postgres"
	"qb/supervisor/wire/settings"
)

// BenchmarkReads measures what a supervisor with 10,000 hosts of 16 slots and 400 jobs does for one read. cpu-µs/op is
// processor time of this process, from the credential to the last byte of the answer: no network, no client, no Postgres.
//
//	go test ./supervisor/serve -run '^$' -bench Reads -benchtime 50x
func BenchmarkReads(b *testing.B) {
	handler, token := largeFarm(b)
	for _, c := range []struct{ name, path, encoding string }{
		{"metrics", "/metrics", ""},
		{"hosts", "/v1/hosts?limit=1000", ""},
		{"hosts-gzip", "/v1/hosts?limit=1000", "gzip"},
		{"hosts-fields", "/v1/hosts?limit=1000&fields=name,state", ""},
		{"hosts-sorted", "/v1/hosts?limit=1000&sort=-memory.avail", ""},
		{"jobs", "/v1/jobs?limit=200", ""},
		{"jobs-gzip", "/v1/jobs?limit=200", "gzip"},
		{"items", "/v1/jobs/1/items?limit=1000", ""},
		{"items-gzip", "/v1/jobs/1/items?limit=1000", "gzip"},
	} {
		b.Run(c.name, func(b *testing.B) {
			size := int64(0)
			ask := func() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "http://127.0.0.1"+c.path, nil)
				r.Header.Set("Authorization", "Bearer "+token)
				r.Header.Set("Accept-Encoding", c.encoding)
				answer := &discarded{header: http.Header{}}
				handler.ServeHTTP(answer, r)
				if answer.status != http.StatusOK {
					b.Fatalf("%s: status %d", c.path, answer.status)
				}
				size = answer.size
			}
			ask()
			used := cpuOf(unix.RUSAGE_SELF)
			b.ReportAllocs()
			for b.Loop() {
				ask()
			}
			b.ReportMetric(float64((cpuOf(unix.RUSAGE_SELF)-used).Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64(size), "bytes/answer")
		})
	}
}

// discarded is an answer of which only the length is kept.
type discarded struct {
	header http.Header
	status int
	size   int64
}

func (d *discarded) Header() http.Header    { return d.header }
func (d *discarded) WriteHeader(status int) { d.status = status }

func (d *discarded) Write(p []byte) (int, error) {
	if d.status == 0 {
		d.status = http.StatusOK
	}
	d.size += int64(len(p))
	return io.Discard.Write(p)
}

// largeFarm serves a view of 10,000 hosts with 16 instances each, and 400 jobs of 1,000 items that are in the rows, too;
// all items of the first have ended. The token is an admin's.
func largeFarm(b *testing.B) (handler http.Handler, token string) {
	b.Helper()
	url := newDatabase(b)
	db, err := postgres.Open(b.Context(), url, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	cfg := settings.DefaultConfig()
	cfg.State = b.TempDir()
	s, err := newServer(cfg, db, slog.New(slog.DiscardHandler), "test")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.logs.Close() })
	s.gate.Key = testKey
	view := waitingJobs(b, db, 400)
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	if _, err := conn.Exec(b.Context(), endedAttempts, 1, 1000, "done"); err != nil {
		b.Fatal(err)
	}
	view.Hosts = busyHosts(10_000, view.At)
	s.view.Store(term.NewPicture(view))
	token, _, err = credentials.Make(b.Context(), testKey, db,
		credentials.Request{User: "root", Role: api.Admin, Days: 1})
	if err != nil {
		b.Fatal(err)
	}
	return compressed(s), token
}

// waitingJobs submits jobs that wait, and returns the view of the farm.
func waitingJobs(b *testing.B, db Backing, jobs int) *message.View {
	b.Helper()
	lead, err := db.Lead(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer lead.Close(b.Context())
	rows, err := lead.Load(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	at := time.Now()
	f, err := farm.Rebuild(settings.DefaultConfig().Policy(), rows, at)
	if err != nil {
		b.Fatal(err)
	}
	four := 4
	for n := range jobs {
		j := facts.JobFacts{Submission: fmt.Sprint(n), Name: fmt.Sprintf("seq%02d_sh%04d_beauty", n%40, n*10),
			User: fmt.Sprint("artist", n%60), Agenda: agenda.Spec{Range: "1-1000"}, CPUs: 2, MaxCPUs: &four,
			Command: []string{"/usr/bin/render", "-scene", "/shows/heron/010/beauty.scene", "-frame", "QB_FRAME_NUMBER"},
			Cluster: "/heron", Priority: 100 + n, Requirements: "host.memory > 4GiB", Hosts: []string{"h1", "h2"}}
		j.Tags, _ = facts.TagsOf(map[string]string{"prod_show": "heron", "prod_shot": "010"})
		f.Step(at, message.JobSubmitted{Ticket: outbox.Ticket(n + 1), Facts: j})
	}
	for {
		f.Plan(at)
		batch := f.Take(at)
		if len(batch.Writes) == 0 {
			break
		}
		if err := lead.Commit(b.Context(), batch.Writes); err != nil {
			b.Fatal(err)
		}
	}
	view := f.View(at)
	view.At = at
	return view
}

// busyHosts are hosts on which all of 16 slots are taken.
func busyHosts(hosts int, at time.Time) []*message.HostView {
	list := make([]*message.HostView, hosts)
	for n := range list {
		h := &message.HostView{HostFacts: facts.HostFacts{ID: facts.HostID(fmt.Sprintf("rn%05d", n)), Slots: 16,
			Memory: 128 << 30, Cluster: fmt.Sprint("/show", n%5), Groups: []string{"cpu", "linux"}, SeenAt: at,
			MachineID: fmt.Sprintf("%032d", n), Boot: fmt.Sprintf("%032d", n), StateID: fmt.Sprintf("%032d", n),
			Resources: map[string]int{"gpus": n % 3, "disk": 7}, Properties: map[string]string{"os": "linux", "rack": "r7"}},
			State: "up", Used: 16, Available: int64(n%64) << 30, Promised: 64 << 30}
		for i := range 16 {
			h.Instances = append(h.Instances, message.InstanceView{Job: facts.JobID(1 + n%400), Number: i, Kind: facts.Primary,
				State: "active", Attempt: facts.AttemptID{Job: facts.JobID(1 + n%400), Item: facts.ItemNo(i), Number: 1},
				ItemName: fmt.Sprint(i + 1), Started: at, ItemStarted: at, Slots: 1, Memory: 4 << 30})
		}
		list[n] = h
	}
	return list
}
