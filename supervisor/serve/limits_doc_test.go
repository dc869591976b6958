package serve

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"qb/supervisor/access/limits"
)

// shared are the places in the sources where something has a limit, and how many there are in each file. What all users
// have together is a row of the table in docs/operations.md.
var shared = map[string]struct {
	count int
	row   string // of the table; or why it is no limit of users
}{
	"serve/readlimits.go":              {8, "reads of the database"},
	"serve/server.go":                  {2, "event streams"},
	"access/limits/rates.go":           {1, "not shared: one for each user"},
	"access/limits/pace.go":            {2, "not shared: one for each worker"},
	"access/limits/stored.go":          {1, "not shared: one for each user"},
	"access/credentials/tokentable.go": {1, "unknown tokens"},
	"access/gate/gate.go":              {1, "not shared: one for each address"},
	"access/audit/writer.go":           {1, "lines of refusals in the audit trail"},
	"store/mail/sender.go":             {1, "mails a minute"},
	"serve/workers_enrol.go":           {1, "enrolments"},
	"doors/doors.go":                   {1, "connections of a door"},
	"access/sso/provider.go":           {2, "logins by single sign-on"},
	"page/whatif/trials.go":            {1, "changes tried"},
	"store/postgres/lead.go":           {1, "not shared: the leader's own session"},
	"lead/term/loop.go":                {1, "not shared: a signal"},
	"lead/term/syncs.go":               {1, "not shared: a signal"},
}

var limiting = regexp.MustCompile(
	`make\(chan struct\{\}, |rate\.NewLimiter\(|limits\.New(Pools|StreamLimit|AtOnce)\(|NewRateLimiter\(`)

// TestSharedLimits: each limit in the sources is in the list above, each limit shared by all users is a row of the
// table in docs/operations.md, and a row without a share for each user gives the reason.
func TestSharedLimits(t *testing.T) {
	found := map[string]int{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if n := len(limiting.FindAll(text, -1)); n > 0 {
			found[strings.TrimPrefix(path, "../")] = n
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n### What all users share\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 || strings.HasPrefix(cells[1], " ---") || strings.Contains(cells[1], "what") {
			continue
		}
		name, ofOne, beyond := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[3]), strings.TrimSpace(cells[4])
		name, _, _ = strings.Cut(name, ":")
		name, _, _ = strings.Cut(name, " (")
		rows[name] = true
		if beyond == "" || ofOne == "" || ofOne == "–" && !strings.Contains(beyond, "because") {
			t.Errorf("%q has no part for each user, and does not say why: %q", name, beyond)
		}
	}
	for path, n := range found {
		if s, known := shared[path]; !known || s.count != n {
			t.Errorf("%s has %d limits, %d are known: list them here and, if all users share them, in docs/operations.md", path,
				n, s.count)
		} else if !strings.HasPrefix(s.row, "not shared: ") && !rows[s.row] {
			t.Errorf("%s: docs/operations.md has no row %q", path, s.row)
		}
	}
	if !ok || len(rows) < 12 {
		t.Errorf("the table has %d rows", len(rows))
	}
	for _, name := range limits.Names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/operations.md does not name the limit %s", name)
		}
	}
}
