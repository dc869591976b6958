package browser_test

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// axe-core checks pages by the rules of WCAG. It is of MPL-2.0, fetched for this test and shipped with nothing.
const (
	axeVersion   = "axe-core@4.10.3"
	axeIntegrity = "Xm7bpRXnDSX2YE2YFfBk2FnF0ep6tmG7xPh8iHee8MIcrgq762Nkce856dYtJYLkuIoYZvGfTs/PbZhideTcEg=="
)

// axeScript is the text of axe, by npm.
func axeScript(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("npm", "pack", "--silent", axeVersion)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm pack %s: %v %s", axeVersion, err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, strings.Replace(axeVersion, "@", "-", 1)+".tgz"))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha512.Sum512(data); base64.StdEncoding.EncodeToString(sum[:]) != axeIntegrity {
		t.Fatalf("%s is not what it was", axeVersion)
	}
	packed, err := gzip.NewReader(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(packed); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("%s has no axe.min.js", axeVersion)
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Name == "package/axe.min.js" {
			text, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
}

// axe is what axe finds serious or critical in what is shown now.
func (b *tab) axe(t *testing.T, script string) []string {
	t.Helper()
	if !js[bool](t, b, `typeof axe === "object"`) {
		js[bool](t, b, script+"; true")
	}
	js[bool](t, b, `globalThis.found = null, axe.run(document, {resultTypes: ["violations"]}).then(r => { found = r.violations.filter(v => v.impact === "serious" || v.impact === "critical").flatMap(v => v.nodes.slice(0, 3).map(n => v.id + ": " + n.target.join(" ") + " " + n.html.slice(0, 120) + " " + (n.any[0]?.message ?? n.all[0]?.message ?? ""))); }, e => { found = [String(e)]; }), true`)
	b.until(t, "axe", `found !== null`)
	return js[[]string](t, b, `found`)
}

// TestPageAccessible: no view has a serious finding of axe, in either theme; one that is planted is found.
func TestPageAccessible(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "4")
	failing := f.sub("-name", "comp_sh020_v003", "-range", "1-20", "-max_cpus", "4", "sh", "-c", `[ $((QB_FRAME_NUMBER % 5)) -ne 0 ]`)
	f.sub("-name", "waits", "-range", "1-5", "-reservations", "host.memory=4000GB", "true")
	running := f.sub("-name", hostile, "-range", "1-50", "-max_cpus", "4", "sleep", "600")
	shown := f.illustrated(t)
	b, script := openTab(t, f), axeScript(t)
	b.logIn(t)
	for _, theme := range []string{"light", "dark"} {
		b.theme(t, theme)
		for _, address := range []string{"#/", "#/jobs", "#/jobs/" + failing, "#/jobs/" + running, "#/jobs/" + failing + "?by=seconds", "#/jobs/" + failing + "?by=host", "#/jobs/" + failing + "/items/5", "#/hosts", "#/slots", "#/slots?host=h&by=kind", "#/what-if?lock=h&max_cpus=1&job=" + running, "#/fairshare", "#/fairshare/root", "#/reports", "#/submit", "#/submit/template", "#/submit/type", "#/me", "#/nothing",
			"#/history", "#/share?by=user", "#/notices", "#/hosts/h", "#/jobs?cols=id,name,account,peak", "#/jobs/" + shown + "?tab=pictures", "#/jobs/" + shown + "/items/2"} {
			b.goTo(t, address)
			time.Sleep(400 * time.Millisecond) // what comes after the first sight
			for _, found := range b.axe(t, script) {
				t.Errorf("%s, %s: %s", address, theme, found)
			}
		}
	}
	js[any](t, b, `document.querySelector("main").append(document.createElement("input"))`)
	if found := fmt.Sprint(b.axe(t, script)); !strings.Contains(found, "label") {
		t.Errorf("an input without a name is not found: %s", found)
	}
}
