package doors

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/serve"
	"qb/supervisor/wire/settings"
)

// recording are requests of a real add-on.
type recording struct {
	Client   string
	Requests []struct {
		Method, Path, Body string
		Header             map[string]string
		Status             int
	}
}

func readRecording(t *testing.T) recording {
	t.Helper()
	text, err := os.ReadFile("testdata/flamenco-3.9-beta1.json")
	if err != nil {
		t.Fatal(err)
	}
	return decode[recording](t, string(text))
}

var ofAddOn = http.Header{"Content-Type": {"application/json"}, "User-Agent": {"Flamenco/3.9-beta1 (Blender add-on)"}}

// etag is the tag of a job type as the door shows it now.
func (r *rig) etag(name string) string {
	r.t.Helper()
	_, text := r.ask("GET", "/api/v3/jobs/types", "", ofAddOn)
	for _, one := range decode[struct {
		Types []flamencoType `json:"job_types"`
	}](r.t, text).Types {
		if one.Name == name {
			return one.ETag
		}
	}
	r.t.Fatalf("no type %s in %s", name, text)
	return ""
}

// TestRecordedAddOn plays the requests of the real add-on, and looks at the job that the farm has then.
func TestRecordedAddOn(t *testing.T) {
	t.Parallel()
	r := startRig(t, func(*settings.Config) {})
	etag := r.etag("blender")
	answers := map[string]string{}
	for _, q := range readRecording(t).Requests {
		header := http.Header{}
		for name, value := range q.Header {
			header.Set(name, value)
		}
		status, text := r.ask(q.Method, q.Path, strings.ReplaceAll(q.Body, "ETAG", etag), header)
		if status != q.Status {
			t.Errorf("%s %s: %d, want %d: %s", q.Method, q.Path, status, q.Status, text)
		}
		answers[q.Path] = text
	}
	if v := decode[map[string]string](t, answers["/api/v3/version"]); v["shortversion"] != "3.9-beta1" ||
		v["version"] == "" || v["name"] == "" || v["git"] == "" {
		t.Errorf("version: %v", v)
	}
	storage := decode[map[string]any](t, answers["/api/v3/configuration/shared-storage/users/linux"])
	if storage["location"] != "/mnt/jobs" || storage["shamanEnabled"] != false || storage["audience"] != "users" {
		t.Errorf("storage: %v", storage)
	}
	answer := decode[map[string]any](t, answers["/api/v3/jobs"])
	jobs := r.jobs()
	if len(jobs) != 1 || answer["id"] != "1" || answer["status"] != "queued" || answer["name"] != "door" {
		t.Fatalf("%d jobs; answer %v", len(jobs), answer)
	}
	j := jobs[0]
	if j.User != owner || j.Name != "door" || j.Kind != "blender" || j.Items.Total == 0 || j.Priority >= 9999 {
		t.Errorf("%+v", j)
	}
	for _, member := range []string{"created", "updated", "activity", "steps_completed", "steps_total", "type",
		"submitter_platform"} {
		if answer[member] == nil {
			t.Errorf("the answer has no %s, which the add-on reads", member)
		}
	}
	var trail []api.AuditEntry
	r.admin(api.AuditLog, nil, nil, &trail)
	if row := trail[0]; row.Verb != api.SubmitOpenJD.ID || row.User != owner || row.From != "flamenco:127.0.0.1" {
		t.Errorf("audit trail: %+v", row)
	}
	var said api.Ping
	r.admin(api.PingFarm, nil, nil, &said)
	if len(said.Doors) != 1 || !strings.Contains(said.Doors[0], "without a login") {
		t.Errorf("ping says %q", said.Doors)
	}
}

const siteTemplate = `specificationVersion: jobtemplate-2023-09
name: "{{Param.Name}}"
parameterDefinitions:
- {name: Scene, type: PATH, objectType: FILE}
- {name: Name, type: STRING, default: x}
- {name: Folder, type: PATH, objectType: DIRECTORY, default: ""}
- {name: Passes, type: INT, default: 3, minValue: 1, maxValue: 9}
- {name: Gain, type: FLOAT, default: 0.5}
- {name: Fast, type: STRING, default: "False", allowedValues: ["True", "False"]}
steps:
- name: Render
  script: {actions: {onRun: {command: echo, args: ["{{Param.Passes}}", "{{Param.Gain}}", "{{Param.Fast}}", "{{RawParam.Scene}}"]}}}
`

// siteTypes is a folder with a job type of a site.
func siteTypes(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"type.json": `{"version": "1", "description": "ours", "file": "Scene"}`,
		"template.yaml": siteTemplate} {
		if err := os.MkdirAll(dir+"/ours", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/ours/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestFormOfType: parameters become settings of the add-on's kinds, and its values become those of the template.
func TestFormOfType(t *testing.T) {
	t.Parallel()
	types := siteTypes(t)
	r := startRig(t, func(c *settings.Config) { c.Types = types })
	_, text := r.ask("GET", "/api/v3/jobs/types", "", ofAddOn)
	for _, want := range []string{
		`"key":"blendfile","type":"string","subtype":"file_path"`, `"required":true,"visible":"hidden","eval":"bpy.data.filepath"`,
		`"key":"Folder","type":"string","subtype":"dir_path"`, `"default":3,"required":false,"propargs":{"max":9,"min":1}`,
		`"key":"Passes","type":"int32"`, `"key":"Gain","type":"float"`, `"key":"Fast","type":"bool"`, `"default":false`,
		`"choices":["scene","PNG"`, `"eval":"f'{C.scene.frame_start}-{C.scene.frame_end}'"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	for _, other := range []string{`"povray"`, `"command"`} { // no scenes of Blender, and a line for the shell
		if strings.Contains(text, other) {
			t.Errorf("%s is offered", other)
		}
	}
	status, text := r.ask("POST", "/api/v3/jobs", `{"name": "n", "type": "ours", "submitter_platform": "windows",
		"initial_status": "paused", "settings": {"blendfile": "j:/Jobs/a/s.blend", "Passes": 5, "Gain": 0.10000000149011612, "Fast": true}}`,
		ofAddOn)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	jobs := r.jobs()
	if len(jobs) != 1 || jobs[0].Name != "n" || jobs[0].Status != "blocked" {
		t.Fatalf("%+v", jobs)
	}
	of, err := projected(mustType(t, types))
	if err != nil {
		t.Fatal(err)
	}
	values, err := of.values(flamencoJob{Platform: "windows", Settings: map[string]any{"blendfile": `J:\jobs\a\s.blend`,
		"Fast": true}}, r.config.FlamencoStorage, "")
	if err != nil || values["Scene"] != "/mnt/jobs/a/s.blend" || values["Fast"] != "True" {
		t.Errorf("%v %v", values, err)
	}
}

// TestPriorities: 50 is the site's default, higher numbers go first.
func TestPriorities(t *testing.T) {
	for asked, want := range map[int]int{0: 9999, 25: 7499, 75: 2501, 100: 1} {
		got, err := priorityOf(&asked, 1, 5000, 9999)
		if err != nil || got == nil || *got != want {
			t.Errorf("%d: %v %v, want %d", asked, got, err, want)
		}
	}
	if got, err := priorityOf(new(50), 1, 5000, 9999); got != nil || err != nil {
		t.Errorf("50: %v %v", got, err)
	}
	if _, err := priorityOf(new(101), 1, 5000, 9999); err == nil {
		t.Error("101 is taken")
	}
}

const goodJob = `{"name": "a", "type": "blender", "submitter_platform": "linux", "settings": {"blendfile": "/mnt/jobs/a/s.blend", "Frames": "1-2"}}`

// TestAttackFlamenco: what a door must refuse, with status and words, and that no job was made by any of it.
func TestAttackFlamenco(t *testing.T) {
	t.Parallel()
	r := startRig(t, func(*settings.Config) {})
	with := func(name, value string) http.Header {
		h := ofAddOn.Clone()
		h.Set(name, value)
		return h
	}
	changed := func(from, to string) string { return strings.Replace(goodJob, from, to, 1) }
	for name, c := range map[string]struct {
		header http.Header
		body   string
		status int
		says   string
	}{
		"another origin":   {with("Origin", "http://evil.example"), goodJob, 403, "another origin"},
		"an origin":        {with("Origin", r.door), goodJob, 403, "for programs"},
		"another site":     {with("Sec-Fetch-Site", "cross-site"), goodJob, 403, "another site"},
		"a rebound name":   {with("Host", "evil.example"), goodJob, 403, "Host header"},
		"a form's body":    {with("Content-Type", "text/plain"), goodJob, 400, "application/json"},
		"a large body":     {ofAddOn, changed(`"a"`, `"`+strings.Repeat("x", maxSubmitted)+`"`), 413, "more than"},
		"half a body":      {ofAddOn, goodJob[:40], 400, "no JSON"},
		"two bodies":       {ofAddOn, goodJob + goodJob, 400, "no JSON"},
		"an old form":      {ofAddOn, changed(`"name"`, `"type_etag": "old", "name"`), 412, "has changed"},
		"no such type":     {ofAddOn, changed("blender", "nothing"), 400, "no job type"},
		"a line of shell":  {ofAddOn, changed("blender", "command"), 400, "not for this door"},
		"a type's path":    {ofAddOn, changed(`"blender"`, `"../blender"`), 400, "no job type"},
		"an escaping path": {ofAddOn, changed("/mnt/jobs/a", "/mnt/jobs/../../etc"), 400, "not in the folder"},
		"a sibling":        {ofAddOn, changed("/mnt/jobs/a", "/mnt/jobs2/a"), 400, "not in the folder"},
		"another path":     {ofAddOn, changed("/mnt/jobs/a", "/etc"), 400, "not in the folder"},
		"no file":          {ofAddOn, changed(`"blendfile"`, `"Format": "PNG", "Output"`), 400, "not in the folder"},
		"a strange value":  {ofAddOn, changed(`"1-2"`, `["1"]`), 400, "write a text"},
		"another setting":  {ofAddOn, changed(`"Frames"`, `"Owner"`), 400, "no such setting"},
		"bad frames":       {ofAddOn, changed(`"1-2"`, `"x"`), 400, "range"},
		"a tag":            {ofAddOn, changed(`"name"`, `"worker_tag": "t", "name"`), 400, "worker tags"},
		"a status":         {ofAddOn, changed(`"name"`, `"initial_status": "completed", "name"`), 400, "queued or paused"},
		"a priority":       {ofAddOn, changed(`"name"`, `"priority": 1000, "name"`), 400, "0 to 100"},
		"metadata":         {ofAddOn, changed(`"name"`, `"metadata": {"user": "root"}, "name"`), 400, "keeps none"},
	} {
		for _, path := range []string{"/api/v3/jobs", "/api/v3/jobs/check"} {
			if strings.HasSuffix(path, "check") && strings.Contains(c.says, "not in the folder") {
				continue // the add-on checks before it copies its file
			}
			status, text := r.ask("POST", path, c.body, c.header)
			answer := decode[struct {
				Code    int
				Message string
			}](t, text)
			if status != c.status || answer.Code != status || !strings.Contains(answer.Message, c.says) {
				t.Errorf("%s: POST %s: %d %s", name, path, status, text)
			}
		}
	}
	for _, path := range []string{"/", "/v1/jobs", "/api/v3/jobs/1", "/api/v3/configuration/shared-storage/users/plan9"} {
		if status, text := r.ask("GET", path, "", ofAddOn); status != http.StatusNotFound {
			t.Errorf("GET %s: %d %s", path, status, text)
		}
	}
	if jobs := r.jobs(); len(jobs) != 0 {
		t.Errorf("attacks made %d jobs", len(jobs))
	}
}

// TestAttackRoles: a door refuses users with more rights than those of the role user, also if they got them later.
func TestAttackRoles(t *testing.T) {
	t.Parallel()
	r := startRig(t, func(*settings.Config) {})
	for user, says := range map[string]string{"root": "root or the supervisor's own account",
		"no-such-user-of-qb": "knows no such user", "": "has not opened it", "daemon": "has not opened it"} {
		open := []string{user}
		if user == "" || user == "daemon" {
			open = []string{owner}
		}
		err := r.farm.Client(serve.Visit{Door: "test", From: "127.0.0.1", User: user, Open: open}).Call(t.Context(),
			api.SubmitOpenJD, nil, api.OpenJDRequest{Type: "command", Values: map[string]string{"Command": "x"}}, nil)
		if api.Refusal(err).Kind != api.KindForbidden || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", user, err)
		}
	}
	other := r.farm.Client(serve.Visit{Door: "test", From: "127.0.0.1", User: owner, Open: []string{owner}})
	err := other.Call(t.Context(), api.SubmitOpenJD, nil, api.OpenJDRequest{Type: "command",
		Values: map[string]string{"Command": "x"}, Job: &api.SubmitRequest{User: "daemon"}}, nil)
	if api.Refusal(err).Kind != api.KindForbidden {
		t.Errorf("for another user: %v", err)
	}
	submit := func() (int, string) { return r.ask("POST", "/api/v3/jobs", goodJob, ofAddOn) }
	r.admin(api.AddPerson, nil, api.PersonRequest{Name: owner, Role: string(api.User)}, nil)
	for _, c := range []struct {
		role api.Role
		says string
	}{{api.Operator, "has the role operator"}, {api.Admin, "has the role admin"}, {api.ReadOnly, "lacks the right"},
		{api.User, `"id":"1"`}} {
		r.admin(api.ChangePerson, api.Params{"user": owner}, api.PersonChange{Role: new(string(c.role))}, nil)
		status, text := submit()
		for end := time.Now().Add(patience); !strings.Contains(text, c.says) && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
			status, text = submit()
		}
		if (status == http.StatusOK) != (c.role == api.User) || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d %s", c.role, status, text)
		}
	}
}

// TestAttackHosts: only the networks that the site names reach a door, whatever it listens on.
func TestAttackHosts(t *testing.T) {
	t.Parallel()
	r := startRig(t, func(c *settings.Config) { c.DoorHosts = "10.1.0.0/16,192.0.2.7" })
	handler := guarded(r.farm, "127.0.0.1:1", flamencoRefusal, 10, http.NotFoundHandler())
	for remote, want := range map[string]int{"10.1.2.3:1": 404, "192.0.2.7:1": 404, "[::ffff:10.1.2.3]:1": 404,
		"127.0.0.1:1": 404, "[::1]:1": 404, "10.2.0.1:1": 403, "192.0.2.8:1": 403, "[2001:db8::1]:1": 403, "@": 403} {
		q := httptest.NewRequest("GET", "http://127.0.0.1:1/", nil)
		q.RemoteAddr = remote
		q.Header.Set("X-Forwarded-For", "127.0.0.1")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, q)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", remote, w.Code, want)
		}
	}
}
