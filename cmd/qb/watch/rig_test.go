package watch

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"qb/api"
)

var update = flag.Bool("update", false, "write the screens of the dialogues anew")

// noon is when the dialogues begin.
var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	time.Local = time.UTC
	os.Exit(m.Run())
}

// fake is a farm that a test makes up.
type fake struct {
	jobs   []api.Job
	hosts  []api.Host
	items  []api.Item
	log    string
	err    error // of every call
	orders []string
	refuse error // of orders
	asked  []string
}

func (f *fake) Ask(_ context.Context, e api.Endpoint, params api.Params, out any) error {
	f.asked = append(f.asked, strings.TrimSpace(e.ID+" "+params["status"]+params["ids"]))
	if f.err != nil {
		return f.err
	}
	switch out := out.(type) {
	case *[]api.Job:
		for _, j := range f.jobs {
			if wanted := params["status"]; wanted != "" && !strings.Contains(wanted, j.Status) {
				continue
			}
			if wanted := params["ids"]; wanted != "" && !strings.Contains(","+wanted+",", fmt.Sprintf(",%d,", j.ID)) {
				continue
			}
			*out = append(*out, j)
		}
	case *[]api.Host:
		*out = f.hosts
	case *[]api.Item:
		*out = f.items
	case *api.Explanation:
		out.Reason, out.Facts = "24 slots are taken by job 1, which has the better priority", []api.Fact{{Text: "3 wait, 1 runs"}, {Text: "2 of 2 hosts serve this job"}}
	case *api.Job:
		for _, j := range f.jobs {
			if strconv.FormatInt(j.ID, 10) == params["job"] {
				*out = j
				return nil
			}
		}
		return api.Errorf(api.KindNotFound, "there is no job %s", params["job"])
	}
	return nil
}

func (f *fake) Order(_ context.Context, job int64, items, action string) (api.ActionReply, error) {
	f.orders = append(f.orders, strings.TrimSpace(fmt.Sprintf("%s %d %s", action, job, items)))
	return api.ActionReply{Job: job, Affected: 3, Done: 3}, f.refuse
}

func (f *fake) Open(_ context.Context, _ api.Endpoint, params api.Params, _ any, _ http.Header) (*http.Response, error) {
	if f.err != nil {
		return nil, f.err
	}
	from, _ := strconv.Atoi(params["offset"])
	return &http.Response{Header: http.Header{api.AttemptHeader: {"2"}}, Body: io.NopCloser(strings.NewReader(f.log[from:]))}, nil
}

func (f *fake) Find() error { return nil }

// many is a farm of so many jobs and hosts; every eighth job runs.
func many(jobs, hosts int) *fake {
	f := &fake{}
	names := []string{"beauty", "turntable", "crowd_sim", "fx_smoke", "comp_final", "matte_paint", "lighting_key"}
	for n := 1; n <= jobs; n++ {
		j := api.Job{ID: int64(n), Name: fmt.Sprintf("%s_sh%03d", names[n%len(names)], n), User: []string{"ann", "bob", "cleo"}[n%3],
			Status: "pending", Priority: n % 9 * 10, Cluster: "/show/char", CPUs: 2, MaxCPUsEffective: 20,
			Items: api.ItemCounts{Total: 48, Pending: 48}, Reason: "all 24 slots that fit are taken, 12 by primaries of jobs 1 and 8 at better priority"}
		switch n % 8 {
		case 1:
			j.Status, j.Instances = "running", api.InstanceCounts{Primary: 2, Secondary: 6}
			j.Items = api.ItemCounts{Total: 48, Complete: 13, Running: 8, Failed: n % 3, Pending: 27 - n%3}
		case 2:
			j.Status, j.Reason, j.Items = "blocked", "waits until job 1 is complete", api.ItemCounts{Total: 48, Blocked: 48}
		case 3:
			j.Status, j.Reason, j.Items = "failed", "48 of 48 items failed, exit 3; see qberr "+strconv.Itoa(n), api.ItemCounts{Total: 48, Failed: 48}
			j.FinishedAt = &noon
		}
		f.jobs = append(f.jobs, j)
	}
	for n := 1; n <= hosts; n++ {
		h := api.Host{Name: fmt.Sprintf("rn%04d", n), State: "up", Slots: api.SlotCounts{Used: n % 9, Total: 8}, Cluster: "/show", Groups: []string{"cpu"},
			Memory: api.HostMemory{Total: 64 << 30, Available: 40 << 30, Promised: 8 << 30, PerIdle: 2 << 30}, LastSeenAt: noon}
		for i := range n % 9 {
			h.Instances = append(h.Instances, api.HostInstance{Job: int64(1 + 8*(i%2)), Kind: "primary", Item: strconv.Itoa(14 + i), Number: 13 + i, Slots: 1, Memory: 1 << 30})
		}
		if n%10 == 0 {
			h.State, h.Remark, h.Instances, h.Slots.Used = "unreachable", "silent since 11:58", nil, 0
		}
		if n == 2 {
			h.Slots.Foreign, h.Swap = 3, api.HostSwap{Total: 16 << 30, Used: 1 << 30, Rate: 12 << 20}
		}
		f.hosts = append(f.hosts, h)
	}
	for n := range 48 {
		i := api.Item{Name: strconv.Itoa(n + 1), Number: n, Status: "pending"}
		host, zero, three := "rn0001", 0, 3
		began, ended := noon.Add(-5*time.Minute), noon.Add(-3*time.Minute)
		switch {
		case n < 13:
			i.Status, i.Attempt, i.Kind, i.Host, i.ExitCode, i.StartedAt, i.FinishedAt = "complete", 1, "primary", &host, &zero, &began, &ended
			i.CPUSeconds, i.PeakMemory = 90, 3<<30
		case n == 13:
			i.Status, i.Attempt, i.Kind, i.Host, i.ExitCode, i.StartedAt, i.FinishedAt = "failed", 2, "primary", &host, &three, &began, &ended
			i.Reason = "exit 3"
		case n < 22:
			i.Status, i.Attempt, i.Kind, i.Host, i.StartedAt = "running", 1, "secondary", &host, &began
		}
		f.items = append(f.items, i)
	}
	f.log = "reading scene\nrendering  10%\rrendering 100%\nwrote frame.exr\n"
	return f
}

// rig is a model that a test drives.
type rig struct {
	*model
	farm *fake
	at   time.Time
	quit bool
}

func newRig(f *fake, utf8 bool) *rig {
	r := &rig{farm: f, at: noon}
	s := Screen{
		Options: Options{Every: time.Second},
		Connect: func() Farm { return f },
		Describe: func(j api.Job) [][2]string {
			return [][2]string{{"name", j.Name}, {"user", j.User}, {"command", "render -f QB_FRAME_NUMBER scene.ma"}}
		},
		now:   func() time.Time { return r.at },
		every: func(time.Duration, any) tea.Cmd { return nil },
	}
	r.model = newModel(s, drawing{utf8: utf8})
	r.source = &source{farm: f, now: func() time.Time { return r.at }, ended: true}
	return r
}

// send gives the model a message, and then what its commands return.
func (r *rig) send(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, cmd := range msg {
			r.do(cmd)
		}
	case tea.QuitMsg:
		r.quit = true
	default:
		_, cmd := r.Update(msg)
		r.do(cmd)
	}
}

func (r *rig) do(cmd tea.Cmd) {
	if cmd != nil {
		r.send(cmd())
	}
}

// keys are the keystrokes that the dialogues name by more than a letter.
var keys = map[string]rune{"up": tea.KeyUp, "down": tea.KeyDown, "enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab,
	"end": tea.KeyEnd, "home": tea.KeyHome, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "backspace": tea.KeyBackspace}

func (r *rig) press(name string) {
	if code, ok := keys[name]; ok {
		r.send(tea.KeyPressMsg{Code: code})
		return
	}
	if rest, ok := strings.CutPrefix(name, "ctrl+"); ok {
		r.send(tea.KeyPressMsg{Code: rune(rest[0]), Mod: tea.ModCtrl})
		return
	}
	r.send(tea.KeyPressMsg{Code: []rune(name)[0], Text: name})
}

var sequences = regexp.MustCompile("\x1b\\[[0-9;]*m")

// shot is the screen as text.
func (r *rig) shot() []string {
	var lines []string
	for _, line := range r.model.lines() {
		lines = append(lines, strings.TrimRight(sequences.ReplaceAllString(line, ""), " "))
	}
	return lines
}

// Each file of testdata is a dialogue: lines with > say what happens, lines with | are the screen that follows.
func TestDialogues(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d dialogues, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			said, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var heard bytes.Buffer
			r := newRig(many(0, 0), true)
			for line := range strings.Lines(string(said)) {
				if strings.HasPrefix(line, "|") {
					continue
				}
				heard.WriteString(line)
				if words, ok := strings.CutPrefix(line, "> "); ok {
					for _, shown := range r.obey(t, strings.Fields(words)) {
						heard.WriteString("|" + shown + "\n")
					}
				}
			}
			if *update {
				if err := os.WriteFile(name, heard.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(said), heard.String()); diff != "" {
				t.Errorf("the dialogue went differently (-want +got; -update writes it anew):\n%s", diff)
			}
		})
	}
}

// obey does what one line of a dialogue says.
func (r *rig) obey(t *testing.T, words []string) []string {
	t.Helper()
	number := func(n int) int {
		v, err := strconv.Atoi(words[n])
		if err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		return v
	}
	switch words[0] {
	case "farm": // farm JOBS HOSTS [ascii]
		*r = *newRig(many(number(1), number(2)), len(words) < 4)
		r.screen.now = func() time.Time { return r.at }
		r.source.now = r.screen.now
		r.send(againMsg{})
	case "size":
		r.send(tea.WindowSizeMsg{Width: number(1), Height: number(2)})
	case "keys":
		for _, key := range words[1:] {
			r.press(key)
		}
	case "type":
		for _, letter := range strings.Join(words[1:], " ") {
			r.press(string(letter))
		}
	case "look":
		r.send(againMsg{})
	case "later":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			t.Fatal(err)
		}
		r.at = r.at.Add(d)
	case "away":
		r.farm.err = api.Errorf(api.KindUnavailable, "the supervisor at unix:/run/qb/s cannot be reached: connection refused")
	case "refuse":
		r.farm.refuse = api.Errorf(api.KindForbidden, "job 1 is ann's; you are bob")
	case "back":
		r.farm.err = nil
	case "hostile":
		r.farm.jobs[0].Name, r.farm.jobs[0].Reason = "\x1b]0;owned\x07\x1b[2Jred\nline\u202e", "\x1b[31mnot red\r\n> 2 forged"
		r.farm.hosts[0].Name, r.farm.log = "rn\x1b[H", "plain\x1b[2J\x1b[31mred\x1b[0m\x1b]52;c;AAAA\x07 end\u202e\nwide 日本語\n"
	case "orders":
		return r.farm.orders
	case "quit":
		return []string{fmt.Sprint(r.quit)}
	case "screen":
		return r.shot()
	default:
		t.Fatalf("%q", words)
	}
	return nil
}
