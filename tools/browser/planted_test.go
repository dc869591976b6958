package browser_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// changed is qb with another text of one file of the page; the file itself stays as it is.
func changed(t *testing.T, name, file string, change func(string) string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "supervisor/page/web/static", file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	next := change(string(text))
	if next == string(text) {
		t.Fatalf("%s: nothing is changed in %s", name, file)
	}
	dir := t.TempDir()
	overlay, _ := json.Marshal(map[string]any{"Replace": map[string]string{path: filepath.Join(dir, file)}}) // texts always encode
	if err := os.WriteFile(filepath.Join(dir, file), []byte(next), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay"), overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(buildDir, "qb-"+name)
	cmd := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay"), "-o", program, "./cmd/qb")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v %s", name, err, out)
	}
	return program
}

// proofs are what is looked at in a page of a small farm; each is what it finds wrong.
func proofs(t *testing.T, f *farm) map[string]string {
	t.Helper()
	job := f.sub("-name", "some_fail", "-range", "1-30", "-max_cpus", "4", "sh", "-c", `[ $((QB_FRAME_NUMBER % 7)) -ne 0 ]`)
	for n := range 20 {
		f.sub("-name", "waits_"+string(rune('a'+n)), "-status", "blocked", "true")
	}
	b := openTab(t, f)
	b.logIn(t)
	found := map[string]string{"grid": strings.Join(b.untrue(t, job, 30), "; ")}
	b.goTo(t, "#/jobs")
	b.until(t, "the list", `document.querySelectorAll(".row-line").length > 20`)
	time.Sleep(time.Second) // what comes after the first sight
	if n := b.requestsIn(6 * time.Second); n > 3 {
		found["requests"] = "a list of jobs makes requests by itself"
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	found["policy"] = strings.Join(b.wrongs, "; ")
	return found
}

// TestPlanted: a page with a fault in it fails the proof that is there for such a fault, and the page as it is fails none.
func TestPlanted(t *testing.T) {
	for _, c := range []struct{ name, file, was, is, found string }{
		{name: "nothing"},
		{"shifted-grid", "grid.js", "colours[states[n]];\n      const small", "colours[states[n + 1]];\n      const small", "grid"},
		{"poll-per-row", "parts.js", "export function Bar({ job }) {", "export function Bar({ job }) {\n  useEffect(() => { const timer = setInterval(() => fetch(`/healthz?${job.id}`), 2000); return () => clearInterval(timer); }, []);", "requests"},
		{"markup", "parts.js", "export const Name = ({ text }) => html`<bdi class=\"name\"", "export const Name = ({ text }) => html`<bdi ref=${e => { if (e) setTimeout(() => { e.innerHTML = text; }); }} class=\"name\"", "policy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFarm(t, "-slots", "4")
			if c.file != "" {
				f.qb = changed(t, c.name, c.file, func(text string) string { return strings.Replace(text, c.was, c.is, 1) })
			}
			f.start("127.0.0.1:0")
			for proof, wrong := range proofs(t, f) {
				if (wrong != "") != (proof == c.found) {
					t.Errorf("with %s planted the proof of the %s finds %q", c.name, proof, wrong)
				} else if wrong != "" {
					t.Logf("%s is found: %.200s", c.name, wrong)
				}
			}
		})
	}
}
