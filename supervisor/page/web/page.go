package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"qb/api"
)

//go:embed static
var static embed.FS

//go:embed shell.html
var shellText string

var shellPage = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("shell").Parse(shellText))
})

// modules are the names by which the modules of others import each other.
var modules = map[string]string{
	"preact": "preact.mjs", "preact/hooks": "hooks.mjs", "htm": "htm.mjs", "htm/preact": "htm-preact.mjs",
	"@preact/signals": "signals.mjs", "@preact/signals-core": "signals-core.mjs", "eventsource-parser": "parse.js",
	"uplot": "uPlot.esm.js",
}

// later are the modules that no first sight of the page needs.
var later = []string{"actions.js", "undo.js", "share.js", "history.js", "why.js", "bell.js", "host.js", "item.js",
	"pictures.js", "log.js", "lines.js", "failures.js", "hosts.js", "slotmap.js", "submit.js", "submission.js", "lists.js",
	"moment.js", "check.js", "fields.js", "template.js", "headings.js", "instance.js", "attributes.js", "whatif.js", "slots.js",
	"values.js", "shares.js", "reports.js", "me.js", "uPlot.esm.js"}

// remark matches comments in our own modules, which browsers need not load.
var remark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(//.*|/\*\*(?s:.*?)\*/)$`)
})

// kindOf is the content type of a file that is served, by its extension; others, such as licences, are not served.
var kindOf = map[string]string{".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

// Page is the farm as a page: one document, and its files below an address that has their hash.
type Page struct {
	Hash   string // of all files
	files  map[string]file
	shell  []byte
	policy string
}

type file struct {
	kind           string
	plain, gzipped []byte
}

// NewPage reads the files and makes the document; pattern is the path of a file, with {hash} and {file}.
func NewPage(pattern string) (*Page, error) {
	p := &Page{files: map[string]file{}}
	sum := sha256.New()
	var own []byte // the text of our own modules
	err := fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || kindOf[path.Ext(name)] == "" {
			return err
		}
		data, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".js" && path.Dir(name) == "static" {
			data = remark().ReplaceAll(data, nil)
			own = append(own, data...)
		}
		p.add(sum, name, data)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the files of the page: %w", err)
	}
	for _, made := range []struct {
		name  string
		value any
	}{{"attributes.js", attributesOfForm()}, {"endpoints.js", endpointsOfPage(own)}} {
		data, err := json.Marshal(made.value)
		if err != nil {
			return nil, fmt.Errorf("making %s: %w", made.name, err)
		}
		p.add(sum, made.name, append([]byte("export default "), data...))
	}
	p.Hash = hex.EncodeToString(sum.Sum(nil)[:8])
	return p, p.makeShell(func(name string) string {
		return strings.NewReplacer("{hash}", p.Hash, "{file}", name).Replace(pattern)
	})
}

// add takes in a file, of which the hash knows.
func (p *Page) add(sum io.Writer, name string, data []byte) {
	fmt.Fprintf(sum, "%s %d\n%s", name, len(data), data)
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // a level that there is
	_, _ = w.Write(data)                                       // a buffer takes all
	_ = w.Close()
	p.files[path.Base(name)] = file{kindOf[path.Ext(name)], data, packed.Bytes()}
}

// makeShell makes the document. Its only script of its own text is the import map, whose hash the policy has.
func (p *Page) makeShell(address func(string) string) error {
	imports, integrity := map[string]string{}, map[string]string{}
	for name, file := range modules {
		imports[name] = address(file)
	}
	type module struct{ Address, Sum string }
	var preload []module
	var styles []module
	for name, f := range p.files {
		sum := sha256.Sum256(f.plain)
		m := module{address(name), "sha256-" + base64.StdEncoding.EncodeToString(sum[:])}
		switch path.Ext(name) {
		case ".js", ".mjs":
			integrity[m.Address] = m.Sum
			if !slices.Contains(later, name) {
				preload = append(preload, m) // without its sum it would be fetched again
			}
		case ".css":
			styles = append(styles, m)
		}
	}
	for _, list := range [][]module{preload, styles} {
		slices.SortFunc(list, func(a, b module) int { return strings.Compare(a.Address, b.Address) })
	}
	importMap, err := json.Marshal(map[string]any{"imports": imports, "integrity": integrity})
	if err != nil {
		return fmt.Errorf("making the import map of the page: %w", err)
	}
	var page bytes.Buffer
	err = shellPage().Execute(&page, struct {
		Map       template.HTML
		Preload   []module
		Styles    []module
		App, Icon string
	}{template.HTML(`<script type="importmap">` + string(importMap) + "</script>"), preload, styles, address("app.js"),
		address("icon.svg")})
	if err != nil {
		return fmt.Errorf("making the page: %w", err)
	}
	sum := sha256.Sum256(importMap)
	p.shell = page.Bytes()
	p.policy = "default-src 'none'; script-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; style-src 'self'; img-src 'self' data: blob:; " +
		"connect-src 'self'; worker-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	return nil
}

// Shell serves the document.
func (p *Page) Shell(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", p.policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	_, _ = w.Write(p.shell) // the reader may be gone
}

// File serves a file of this release; a tab of another release gets an error that asks to reload the page.
func (p *Page) File(hash, name string) (func(http.ResponseWriter, *http.Request), error) {
	f, ok := p.files[name]
	if hash != p.Hash || !ok {
		return nil, api.Errorf(api.KindNotFound, "the page has no such file; load %s again", api.FarmPage.Path)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", f.kind)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Vary", "Accept-Encoding")
		data := f.plain
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			data = f.gzipped
		}
		_, _ = w.Write(data) // the reader may be gone
	}, nil
}
