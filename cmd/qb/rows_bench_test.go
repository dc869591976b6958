package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"syscall"
	"testing"
	"time"

	"qb/api"
	"qb/cmd/qb/output"
)

// BenchmarkRows prints a job of 100,000 ended items, and 20,000 jobs, as qbitems and qbjobs do: pages are asked for over
// HTTP on the loopback, decoded and printed. The pages are at hand. cpu-µs/row is processor time of this process, and
// the server's part, which only writes bytes, is in it.
//
//	go test ./cmd/qb -run '^$' -bench Rows -benchtime 5x
func BenchmarkRows(b *testing.B) {
	const items, jobs = 100_000, 20_000
	started := time.Date(2026, 9, 1, 12, 0, 0, 123456000, time.UTC)
	finished := started.Add(90 * time.Second)
	itemPages := pagesOf(b, items, 1000, func(n int) api.Item {
		return api.Item{Name: strconv.Itoa(n + 1), Number: n, Status: "complete", Attempt: 1, Kind: "secondary",
			Host: new(fmt.Sprintf("rn%05d", n%10_000)), Instance: new("1.7"), ExitCode: new(0), StartedAt: &started,
			FinishedAt: &finished, CPUSeconds: 88.25, PeakMemory: 3 << 30}
	})
	jobPages := pagesOf(b, jobs, jobsPage, func(n int) api.Job {
		return api.Job{ID: int64(jobs - n), Name: fmt.Sprintf("seq%02d_sh%04d_beauty", n%40, n*10), User: "ann",
			Status: "complete", Priority: 100, Cluster: "/heron", CPUs: 2, MaxCPUs: new(4), Range: "1-1000", SubmittedAt: started,
			StartedAt: &started, FinishedAt: &finished, Items: api.ItemCounts{Total: 1000, Complete: 1000}, Type: "cmdrange",
			Agenda: true, Command: []string{"/usr/bin/render", "-scene", "/shows/heron/010/beauty.scene"},
			Tags: map[string]string{"prod_show": "heron"}, Hosts: []string{"h1"}, Requirements: "host.memory > 4GiB"}
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, page := r.URL.Query(), []byte("[]")
		if after, _ := strconv.Atoi(q.Get("after")); r.URL.Path != api.ListJobs.Path && after+1 < items {
			page = itemPages[(after+1)/1000]
		}
		if before, _ := strconv.Atoi(q.Get("before")); r.URL.Path == api.ListJobs.Path && before != 1 {
			if page = jobPages[0]; before > 0 {
				page = jobPages[(jobs+1-before)/jobsPage]
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(page)
	}))
	b.Cleanup(server.Close)
	to, err := api.NewClient(server.URL, "")
	if err != nil {
		b.Fatal(err)
	}
	for _, form := range []struct {
		name    string
		options output.ListOptions
	}{{"table", output.ListOptions{}}, {"json", output.ListOptions{JSON: true}}} {
		b.Run("items/"+form.name, func(b *testing.B) {
			timeRows(b, items, form.options, itemColumns, func(add func(...api.Item) error) error {
				return (&client{Client: to}).eachItem(b.Context(), 1, add)
			})
		})
		b.Run("jobs/"+form.name, func(b *testing.B) {
			timeRows(b, jobs, form.options, jobColumns, func(add func(...api.Job) error) error {
				return (&client{Client: to}).eachJob(b.Context(), jobFilter{}, add)
			})
		})
	}
}

// pagesOf are rows as the pages of an endpoint.
func pagesOf[T any](b *testing.B, rows, size int, row func(n int) T) (pages [][]byte) {
	b.Helper()
	for first := 0; first < rows; first += size {
		var page []T
		for n := first; n < min(first+size, rows); n++ {
			page = append(page, row(n))
		}
		text, err := json.Marshal(page)
		if err != nil {
			b.Fatal(err)
		}
		pages = append(pages, text)
	}
	return pages
}

// timeRows prints the rows of a source again and again.
func timeRows[T any](b *testing.B, rows int, o output.ListOptions, columns []output.Column[T],
	source func(add func(...T) error) error) {
	used := rowsTime(b)
	b.ReportAllocs()
	for b.Loop() {
		count := 0
		l, err := output.NewLister(output.PartialOutput{Writer: io.Discard}, "", o, columns)
		if err != nil {
			b.Fatal(err)
		}
		if err := source(func(page ...T) error {
			count += len(page)
			return l.Add(page...)
		}); err != nil {
			b.Fatal(err)
		}
		if err := l.End(); err != nil || count != rows {
			b.Fatalf("%d rows, want %d: %v", count, rows, err)
		}
	}
	b.ReportMetric(float64((rowsTime(b)-used).Nanoseconds())/1000/float64(b.N*rows), "cpu-µs/row")
}

func rowsTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
