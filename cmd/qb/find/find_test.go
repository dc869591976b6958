package find

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"qb/api"
	"qb/cmd/qb/config"
)

// The farm's token goes to the farm alone.
func TestTokenStaysHome(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "admin.token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("QB_TOKEN", "")
	t.Setenv("QB_TOKEN_FILE", "")
	farm := &Farm{URL: "http://127.0.0.1:50001", TokenFile: token}
	conf := &config.Config{}
	for named, want := range map[string]string{
		"": "secret", "http://127.0.0.1:50001": "secret", "http://localhost:50001": "secret", "http://[::1]:50001/": "secret",
		"unix:/y/qb.sock": "", "http://127.0.0.1:50002": "", "http://evil.example:50001": "",
		"https://127.0.0.1:50001": "", "http://127.0.0.1.evil.example:50001": "", "http://127.0.0.1:50001@evil.example": "",
		"http://evil@127.0.0.1:50001": "", "http://127.0.0.1:50001,http://evil.example:50001": "",
	} {
		if got, err := findToken(conf, farm, sources{option: named}); err != nil || got != want {
			t.Errorf("-supervisor %q is given %q, %v; want %q", named, got, err, want)
		}
	}
	farm.Socket = "/x/qb.sock"
	if got, err := findToken(conf, farm, sources{}); err != nil || got != "" {
		t.Errorf("the farm's socket is given %q, %v", got, err)
	}
	t.Setenv("QB_TOKEN_FILE", filepath.Join(dir, "missing"))
	if _, err := findToken(conf, farm, sources{}); api.ExitCode(err) != 4 {
		t.Errorf("a token file that is missing: %v", err)
	}
}

// Each token goes to the Address that it is for.
func TestTokenOfAnAddress(t *testing.T) {
	const a, b = "http://a:50001", "http://b:50001"
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("conf's\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("QB_TOKEN_FILE", "")
	for _, test := range []struct {
		token string
		from  sources
		want  string
	}{
		{"env's", sources{}, "env's"}, {"env's", sources{option: a}, "env's"}, {"env's", sources{env: a}, "env's"}, {"env's", sources{conf: a}, "env's"},
		{"env's", sources{option: b, env: a, conf: a}, ""}, {"env's", sources{option: a + "/", env: b + "," + a}, "env's"},
		{"env's", sources{option: a + "," + b, env: a, conf: a}, ""}, {"env's", sources{option: b, env: a, conf: b}, "conf's"},
		{"", sources{conf: a}, "conf's"}, {"", sources{option: b, conf: a}, ""}, {"", sources{env: b, conf: a}, ""}, {"", sources{option: b}, "conf's"},
	} {
		t.Setenv("QB_TOKEN", test.token)
		conf := &config.Config{}
		conf.ClientTokenFile = file
		if got, err := findToken(conf, nil, test.from); err != nil || got != test.want {
			t.Errorf("QB_TOKEN %q, %+v: given %q, %v; want %q", test.token, test.from, got, err, test.want)
		}
	}
	t.Setenv("QB_TOKEN", "")
	conf, farm := &config.Config{}, &Farm{URL: "http://127.0.0.1:50001"}
	conf.ClientTokenFile = file
	for named, want := range map[string]string{"": "conf's", "http://localhost:50001": "conf's", a: ""} {
		if got, err := findToken(conf, farm, sources{env: named}); err != nil || got != want {
			t.Errorf("beside a farm of this machine, %q is given %q, %v; want %q", named, got, err, want)
		}
	}
}

// A farm of this machine is met at its socket, also where its Address on loopback is named.
func TestBySocket(t *testing.T) {
	farm := &Farm{URL: "http://127.0.0.1:50001", Socket: "/x/qb.sock"}
	for list, want := range map[string]string{
		"http://localhost:50001": "unix:/x/qb.sock", "http://127.0.0.1:50002": "http://127.0.0.1:50002",
		"http://[::1]:50001, http://heron:50001": "unix:/x/qb.sock,http://heron:50001", "unix:/y": "unix:/y",
	} {
		if got := BySocket(list, farm); got != want {
			t.Errorf("%s becomes %s, want %s", list, got, want)
		}
	}
	if got := BySocket("http://localhost:50001", nil); got != "http://localhost:50001" {
		t.Errorf("without a farm: %s", got)
	}
}

func TestDefaultState(t *testing.T) {
	t.Setenv("QB_STATE", "/a/b")
	if got, err := DefaultState(); got != "/a/b" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("QB_STATE", "")
	t.Setenv("XDG_STATE_HOME", "/c")
	want := "/c/qb"
	if os.Geteuid() == 0 {
		want = "/var/lib/qb"
	}
	if got, err := DefaultState(); got != want || err != nil {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// TestFarmOfOnesOwn: what is found in a folder that everybody knows is heeded only by whom the folder belongs to.
func TestFarmOfOnesOwn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "farm.json")
	if _, err := readOwn(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(name, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := readOwn(name); err != nil || string(data) != "{}" {
		t.Errorf("%q, %v", data, err)
	}
	if os.Geteuid() != 0 {
		if _, err := readOwn("/etc/passwd"); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a folder of root's: %v", err)
		}
	} else if err := os.Chown(filepath.Dir(name), 1, 1); err != nil {
		t.Fatal(err)
	} else if _, err := readOwn(name); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a folder of somebody else's: %v", err)
	}
}

// TestFarmOfTheMachine: a user's own farm that has ended hides the machine's farm from no command, and a crashed farm
// of the machine is not taken for another one.
func TestFarmOfTheMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	write := func(name, socket string, pid int) farmFile {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, fmt.Appendf(nil, `{"url":"http://127.0.0.1:1","socket":%q,"token_file":%q,"pid":%d}`, socket, name, pid), 0o600); err != nil {
			t.Fatal(err)
		}
		return farmFile{file, os.ReadFile}
	}
	dead := ended.ProcessState.Pid()
	stale, crashed, alive, shown := write("stale", "/home/s", dead), write("crashed", "/run/s", dead), write("alive", "/home/s", os.Getpid()), write("shown", "/run/s", 0)
	none, closed := farmFile{filepath.Join(dir, "none"), os.ReadFile}, farmFile{"", func(string) ([]byte, error) { return nil, fs.ErrPermission }}
	for want, places := range map[string][]farmFile{"shown": {stale, closed, shown}, "alive": {alive, shown}, "crashed": {crashed, shown}, "stale": {stale, none}, "": {none, closed}} {
		farm, err := farmAt(places)
		if err != nil || want == "" && farm != nil || want != "" && (farm == nil || farm.TokenFile != want) {
			t.Errorf("want %q: %+v, %v", want, farm, err)
		}
	}
}

// TestLoopbackCases: which addresses are one, by the cases that the client for Python is tested with, too.
func TestLoopbackCases(t *testing.T) {
	var cases struct {
		Same []struct {
			One, Other string
			Same       bool
		}
	}
	data, err := os.ReadFile("../../../api/testdata/loopback.json")
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil || len(cases.Same) < 7 {
		t.Fatalf("%+v, %v", cases, err)
	}
	for _, c := range cases.Same {
		if got := sameService(c.One, c.Other); got != c.Same {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
