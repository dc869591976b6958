package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"qb/api"
)

func pageOf(t *testing.T) *Page {
	t.Helper()
	p, err := NewPage(api.Asset.Path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestVendor: what others wrote is byte for byte what VENDOR lists, with a licence that allows it, and nothing else is
// there.
func TestVendor(t *testing.T) {
	list, err := os.ReadFile("static/vendor/VENDOR")
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"VENDOR"}
	licences := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		if len(words) != 7 || !strings.HasPrefix(words[6], "sha512-") ||
			!slices.Contains([]string{"MIT", "Apache-2.0"}, words[3]) {
			t.Fatalf("a line of VENDOR: %s", line)
		}
		known = append(known, words[0])
		licences[words[1]] = licences[words[1]] || strings.HasSuffix(words[0], ".LICENSE")
		data, err := os.ReadFile("static/vendor/" + words[0])
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != words[5] {
			t.Errorf("%s is not that of %s %s; make vendor fetches it", words[0], words[1], words[2])
		}
	}
	for name, has := range licences {
		if !has {
			t.Errorf("%s has no licence beside it", name)
		}
	}
	there, err := os.ReadDir("static/vendor")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range there {
		if !slices.Contains(known, f.Name()) {
			t.Errorf("%s is not in VENDOR", f.Name())
		}
	}
}

// TestPageBytes: all that a browser loads before it shows a row, and all that there is.
func TestPageBytes(t *testing.T) {
	const most, mostFiles, mostAll = 60 << 10, 40, 200 << 10
	p, total, all, files := pageOf(t), 0, 0, 0
	for name, f := range p.files {
		if all += len(f.gzipped); !slices.Contains(later, name) {
			total += len(f.gzipped)
			files++
		}
	}
	t.Logf("%d files of %d bytes compressed at first, %d bytes in all, and a document of %d", files, total, all,
		len(p.shell))
	if total > most || files > mostFiles || all > mostAll {
		t.Errorf("%d files of %d bytes at first and %d bytes in all; at most %d, %d and %d are right", files, total, all,
			mostFiles, most, mostAll)
	}
}

// TestShell: the policy has the hash of the one script in the document, and allows nothing else that is not a file of
// ours.
func TestShell(t *testing.T) {
	rec := httptest.NewRecorder()
	pageOf(t).Shell(rec, httptest.NewRequest(http.MethodGet, "/", nil))
	inline := regexp.MustCompile(`<script type="importmap">(.*?)</script>`).FindSubmatch(rec.Body.Bytes())
	if inline == nil || bytes.Count(rec.Body.Bytes(), []byte("<script")) != 2 {
		t.Fatalf("the scripts of %s", rec.Body)
	}
	sum := sha256.Sum256(inline[1])
	policy := rec.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self' 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "';", "trusted-types 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %s lacks %s", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || regexp.MustCompile(`(?i) on[a-z]+=| style=`).Match(rec.Body.Bytes()) {
		t.Errorf("%s with policy %s", rec.Body, policy)
	}
}

// TestFile: a file is compressed for clients that accept it, cached for ever, and found by its hash only.
func TestFile(t *testing.T) {
	p := pageOf(t)
	if again := pageOf(t); again.Hash != p.Hash {
		t.Errorf("the same files have the hashes %s and %s", p.Hash, again.Hash)
	}
	for _, bad := range [][2]string{{"0123456789abcdef", "app.js"}, {p.Hash, "VENDOR"}, {p.Hash, "page.go"},
		{p.Hash, "preact.LICENSE"}} {
		if _, err := p.File(bad[0], bad[1]); api.Refusal(err).Kind != api.KindNotFound {
			t.Errorf("%v: %v", bad, err)
		}
	}
	for name := range p.files {
		serve, err := p.File(p.Hash, name)
		if err != nil {
			t.Fatal(err)
		}
		plain, packed := httptest.NewRecorder(), httptest.NewRecorder()
		serve(plain, httptest.NewRequest(http.MethodGet, "/", nil))
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Accept-Encoding", "br, gzip")
		serve(packed, r)
		if packed.Header().Get("Content-Encoding") != "gzip" || plain.Header().Get("Content-Encoding") != "" ||
			packed.Body.Len() >= plain.Body.Len() ||
			!strings.Contains(plain.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %v, %v", name, plain.Header(), packed.Header())
		}
	}
}

// banned in our own modules: what makes markup or code of text, and what loads from elsewhere.
var banned = regexp.MustCompile(
	`innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|new Function|javascript:|https?://|localStorage\.[a-zA-Z]+\([^)]*token|\bon[a-z]+="|\bstyle="`)

// wrongs are what a module of ours must not have. Text of the page says item, host and instance, as the glossary does.
func wrongs(name, text string) (bad []string) {
	if found := banned.FindString(text); found != "" {
		bad = append(bad, name+" has "+found)
	}
	for _, tag := range regexp.MustCompile(`<(button|input type="(submit|image|reset)").{0,14}`).FindAllString(text, -1) {
		if !strings.HasPrefix(tag, `<button type="button"`) && !strings.HasPrefix(tag, `<button type="submit"`) {
			// without a type it submits the form that it is in
			bad = append(bad, name+" has a button that does not say what it is: "+tag)
		}
	}
	if n := strings.Count(text, "\n"); n > 500 {
		bad = append(bad, name+" is too long")
	}
	if !strings.HasPrefix(text, "// ") {
		bad = append(bad, name+" does not say what it is")
	}
	// Links and the output of sessions have these.
	others := strings.NewReplacer("subjob-", "", "Running task of", "")
	if found := regexp.MustCompile(`(?i)\b(subjobs?|render nodes?|tasks?)\b`).FindString(others.Replace(text)); found != "" {
		bad = append(bad, name+" says "+found)
	}
	return bad
}

// TestModules: our own modules keep to the rules, and import nothing that is not there, nor each other in a circle but
// by the lists, whose parts views share.
func TestModules(t *testing.T) {
	p, imports := pageOf(t), map[string][]string{}
	list, err := os.ReadDir("static")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if path.Ext(f.Name()) != ".js" {
			continue
		}
		text, err := os.ReadFile("static/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range wrongs(f.Name(), string(text)) {
			t.Error(bad)
		}
		for _, m := range regexp.MustCompile(`(?m)^import .*?"([^"]+)";`).FindAllStringSubmatch(string(text), -1) {
			local, ok := strings.CutPrefix(m[1], "./")
			if _, there := p.files[local]; ok && !there || !ok && modules[m[1]] == "" {
				t.Errorf("%s imports %s, which is not there", f.Name(), m[1])
			}
			if ok {
				imports[f.Name()] = append(imports[f.Name()], local)
			}
		}
	}
	var walk func(name string, above []string)
	walk = func(name string, above []string) {
		if slices.Contains(above, name) {
			t.Fatalf("%v import each other", append(above, name))
		}
		for _, next := range imports[name] {
			walk(next, append(slices.Clone(above), name))
		}
	}
	walk("app.js", nil)
	for _, text := range []string{"// x\ne.innerHTML = name", "// x\nfetch('https://cdn.example')",
		"// x\nhtml`<p style=\"color:red\">`", "// a task", "// x\nhtml`<button class=\"plain\">Copy</button>`",
		"x" + strings.Repeat("\n", 501)} {
		if len(wrongs("planted.js", text)) == 0 {
			t.Errorf("%.30q is let through", text)
		}
	}
}
