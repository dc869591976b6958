package browser_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// cpuSeconds is what the farm's supervisor has used, without its Postgres.
func (f *farm) cpuSeconds() float64 {
	f.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", f.process.Process.Pid))
	if err != nil {
		f.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest) // from the third on
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}

// resident is its memory in bytes.
func (f *farm) resident() (bytes int64) {
	f.t.Helper()
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.process.Process.Pid)) // it runs
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			bytes = kib << 10
		}
	}
	return bytes
}

// sampled is one in how many readers looks at what comes, as a page does; the others take the bytes alone, as all run beside the farm.
const sampled = 50

// looked is what the sampled readers saw.
type looked struct {
	sync.Mutex
	messages, again int           // messages; tables that came whole once more, as the reader was slow
	silence         time.Duration // the longest between two messages, which come each second
}

// look reads the messages of a stream.
func (l *looked) look(stream io.Reader) error {
	text, err := gzip.NewReader(stream)
	if err != nil {
		return err
	}
	lines := bufio.NewReaderSize(text, 64<<10)
	event, last, whole := "", time.Now(), map[string]int{}
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		l.Lock()
		if name, begins := strings.CutPrefix(line, "event: "); begins {
			event = strings.TrimSpace(name)
			l.messages++
			l.silence = max(l.silence, time.Since(last))
			last = time.Now()
		} else if strings.HasPrefix(line, "data: ") && strings.Contains(line, `"full":true`) {
			if whole[event]++; whole[event] > 1 {
				l.again++
			}
		}
		l.Unlock()
	}
}

// counted counts what is read.
type counted struct {
	io.Reader
	came *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.came.Add(int64(n))
	return n, err
}

// readers follow the farm as pages do until the returned function is called, which has the bytes that came and how many were sent away.
func (f *farm) readers(count int, seen *looked) (end func() (bytes int64, gone int64)) {
	var came, gone atomic.Int64
	var all sync.WaitGroup
	stop := make(chan struct{})
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 0, DisableCompression: true}}
	for n := range count {
		all.Go(func() {
			req, _ := http.NewRequest(http.MethodGet, f.url+"/v1/watch", nil) // a good address
			req.Header.Set("Authorization", "Bearer "+f.adminToken)
			req.Header.Set("Accept-Encoding", "gzip")
			resp, err := client.Do(req)
			if err != nil || resp.StatusCode != http.StatusOK {
				gone.Add(1)
				return
			}
			go func() { <-stop; _ = resp.Body.Close() }()
			stream := counted{resp.Body, &came}
			if n%sampled == 0 {
				_ = seen.look(stream) // it ends with the stream
			} else {
				_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, stream, make([]byte, 32<<10))
			}
			select {
			case <-stop:
			default:
				gone.Add(1)
			}
		})
	}
	return func() (int64, int64) { close(stop); all.Wait(); return came.Load(), gone.Load() }
}

// measured is for how long and on how many hosts a measurement is asked for; without it is skipped.
func measured(t *testing.T) (span time.Duration, hosts int) {
	t.Helper()
	span, err := time.ParseDuration(os.Getenv("QB_PAGE_READ"))
	if err != nil {
		t.Skip("QB_PAGE_READ=2m says for how long 500 readers follow the farm")
	}
	hosts, _ = strconv.Atoi(os.Getenv("QB_PAGE_HOSTS"))
	return span, max(hosts, 1)
}

// TestMeasurePage prints how soon the page shows something, and what its readers cost; `make measure WHAT=page` runs it.
func TestMeasurePage(t *testing.T) {
	span, hosts := measured(t)
	f, _ := largeFarm(t, hosts, 1000, "60s")
	b := openTab(t, f)
	b.logIn(t)
	result := map[string]any{"hosts": hosts, "grid_ms": b.paints(t), "list_ms": b.commitToRow(t), "job_ms": b.commitToCell(t)}
	b.goTo(t, "#/me")
	js[any](t, b, `location.replace("about:blank")`) // no page reads now
	time.Sleep(5 * time.Second)
	f.measureReaders(span, result)
}

// TestMeasureReaders prints what 500 readers cost, without a browser; `make measure WHAT=readers` runs it.
func TestMeasureReaders(t *testing.T) {
	span, hosts := measured(t)
	f, _ := largeFarm(t, hosts, 1000, "60s")
	f.measureReaders(span, map[string]any{"hosts": hosts})
}

// measureReaders adds what 500 readers cost to a result, and prints it.
func (f *farm) measureReaders(span time.Duration, result map[string]any) {
	f.t.Helper()
	const count = 500
	cost := func() float64 {
		before, began := f.cpuSeconds(), time.Now()
		time.Sleep(span)
		return (f.cpuSeconds() - before) / time.Since(began).Seconds()
	}
	alone, memory := cost(), f.resident()
	var seen looked
	end := f.readers(count, &seen)
	time.Sleep(10 * time.Second) // until all have the whole tables
	read, most := cost(), f.resident()
	bytes, gone := end()
	load, _ := os.ReadFile("/proc/loadavg") // it is there
	result["readers"] = map[string]any{
		"messages_of_sampled": seen.messages, "tables_sent_again": seen.again, "longest_silence_s": seen.silence.Seconds(), "load": strings.TrimSpace(string(load)),
		"count": count, "seconds": span.Seconds(), "cpu_of_a_core_without": alone, "cpu_of_a_core_with": read, "cpu_for_readers": read - alone, "sent_away": gone,
		"kb_per_second_each": float64(bytes) / count / (span.Seconds() + 10) / 1000, "rss_without": memory, "rss_with": most,
	}
	text, _ := json.MarshalIndent(result, "", "  ") // numbers always encode
	fmt.Println(string(text))
	if gone > 0 {
		f.t.Errorf("%d of %d readers were sent away", gone, count)
	}
}

// commitToRow is how long after the answer to a submission its row is drawn in the list.
func (b *tab) commitToRow(t *testing.T) map[string]float64 {
	t.Helper()
	b.goTo(t, "#/jobs")
	b.until(t, "the list", `document.querySelectorAll(".row-line").length > 10`)
	js[any](t, b, `globalThis.drawn = {}, (function look() { for (const e of document.querySelectorAll(".row-line .name")) drawn[e.innerText] ??= Date.now(); requestAnimationFrame(look); })()`)
	var took []float64
	for n := range 30 {
		name := fmt.Sprint("probe_", n)
		if text := b.ask(http.MethodPost, "/v1/jobs", `{"name": "`+name+`", "command": ["true"], "range": "1", "status": "blocked"}`); !strings.Contains(text, `"job"`) {
			t.Fatal(text)
		}
		committed := float64(time.Now().UnixMicro()) / 1000
		b.until(t, "the row of "+name, `drawn["`+name+`"] > 0`)
		took = append(took, js[float64](t, b, `drawn["`+name+`"]`)-committed)
	}
	return map[string]float64{"p50": quantile(took, 0.5), "p95": quantile(took, 0.95)}
}

// commitToCell is how long after the answer to an order an item's cell has its colour in the grid of the open job.
func (b *tab) commitToCell(t *testing.T) map[string]float64 {
	t.Helper()
	job := b.sub("-name", "cells", "-range", "1-100", "-status", "blocked", "true")
	b.goTo(t, "#/jobs/"+job)
	b.until(t, "the grid", `document.querySelector(".grid canvas")?.dataset.columns > 0`)
	js[any](t, b, `globalThis.cellAt = {}, globalThis.cell = 0, (function look() {
		const canvas = document.querySelector(".grid canvas");
		if (canvas) {
			const columns = Number(canvas.dataset.columns), size = Number(canvas.dataset.size), is = canvas.getContext("2d").getImageData(cell % columns * size + 1, Math.floor(cell / columns) * size + 1, 1, 1).data.join();
			if (globalThis.lastCell === cell && globalThis.lastColour !== is) cellAt[cell] ??= Date.now();
			globalThis.lastCell = cell, globalThis.lastColour = is;
		}
		requestAnimationFrame(look);
	})()`)
	var took []float64
	for n := range 30 {
		js[any](t, b, fmt.Sprint("globalThis.cell = ", n))
		time.Sleep(300 * time.Millisecond) // until it is looked at
		if text := b.ask(http.MethodPost, "/v1/jobs/"+job+"/orders/kill", fmt.Sprintf(`{"items": "%d"}`, n+1)); !strings.Contains(text, "affected") {
			t.Fatal(text)
		}
		committed := float64(time.Now().UnixMicro()) / 1000
		b.until(t, fmt.Sprint("the cell ", n), fmt.Sprintf("cellAt[%d] > 0", n))
		took = append(took, js[float64](t, b, fmt.Sprintf("cellAt[%d]", n))-committed)
	}
	return map[string]float64{"p50": quantile(took, 0.5), "p95": quantile(took, 0.95)}
}

// paints is the script's time of drawing a grid of 100,000 items whole and after 1,000 changes, and that of a reference loop: writing
// as many pixels and putting them onto a canvas.
func (b *tab) paints(t *testing.T) map[string]float64 {
	t.Helper()
	js[any](t, b, `globalThis.paints = null, (async () => {
		const base = new URL(document.querySelector("script[type=module]").src), load = name => import(new URL(name, base).href);
		const [{ html, render }, { Grid }] = await Promise.all([import("htm/preact"), load("grid.js")]);
		const box = document.createElement("div"), states = new Uint8Array(100_000).fill(112), whole = [], changes = [], reference = [], frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)));
		document.querySelector("main").prepend(box);
		const show = (version, changed, theme) => render(html`+"`<${Grid} states=${states} version=${version} changed=${changed} from=${-1} to=${-1} pick=${() => 0} theme=${theme} />`"+`, box);
		show(0, null, "light");
		await frame();
		for (let n = 1; n <= 40; n++) {
			show(2 * n, null, "light");
			await frame();
			whole.push(Number(box.querySelector("canvas").dataset.took));
			const changed = new Set(Array.from({ length: 1000 }, () => Math.floor(Math.random() * 100_000)));
			for (const i of changed) states[i] = 99;
			show(2 * n + 1, changed, "light");
			await frame();
			changes.push(Number(box.querySelector("canvas").dataset.took));
			const began = performance.now(), image = new ImageData(500, 200), pixels = new Uint32Array(image.data.buffer), small = new OffscreenCanvas(500, 200);
			for (let i = 0; i < 100_000; i++) pixels[i] = 0xff000000 | states[i];
			small.getContext("2d").putImageData(image, 0, 0);
			reference.push(performance.now() - began);
		}
		render(null, box);
		box.remove();
		paints = [whole, changes, reference];
	})().catch(e => { paints = [[String(e)]]; })`)
	b.until(t, "the grid", `paints !== null`)
	list := js[[][]float64](t, b, `paints`)
	out := map[string]float64{}
	for n, name := range []string{"whole", "changes", "reference"} {
		out[name+"_p50"], out[name+"_p95"] = quantile(list[n], 0.5), quantile(list[n], 0.95)
	}
	out["whole_to_reference"], out["changes_to_reference"] = out["whole_p50"]/out["reference_p50"], out["changes_p50"]/out["reference_p50"]
	return out
}
