package serve

import (
	"cmp"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/page/web"
	"qb/supervisor/wire/settings"
)

// The matrix: every endpoint with every method, as every kind of caller, on every kind of object. What is right is said
// by hand in rights; what is walked comes from api.Endpoints, so that an endpoint without a line fails.

// caller is who sends a request. Its letter is a key of letters; '-' has no valid credential.
type caller struct {
	letter            byte
	name, user, token string
}

// thing is what a request acts on, in its path or in its body.
type thing struct{ job, host, user, token string }

func (x thing) replacer() *strings.Replacer {
	return strings.NewReplacer("{job}", x.job, "{action}", "block", "{item}", "1", "{host}", x.host, "{user}", x.user,
		"{token}", x.token, "{hash}", pageHash(), "{file}", "app.js", "{profile}", "true", "{type}", "blender", "{resource}", "license.x", "{instance}", "0")
}

// pageHash is the hash of the page's files.
var pageHash = sync.OnceValue(func() string {
	page, err := web.NewPage(api.Asset.Path)
	if err != nil {
		panic(err)
	}
	return page.Hash
})

// bodies are of requests that do something.
var bodies = map[string]string{
	"test-mail":   `{"address":"ada@studio.example"}`,
	"add-account": `{"path":"fx","users":["{user}"]}`, "add-accounts": `[{"path":"many","users":["{user}"]}]`,
	"remove-account": `{"path":"spare-{user}"}`,
	"set-budget":     `{"path":"{user}","budget_seconds":1}`, "report-publication": `{"source":"doi:10.1000/%d"}`,
	"decide-publication": `{"source":"spare-{user}","accept":true}`,
	"add-credits":        `[{"user":"{user}","amount":1,"source":"shot %d"}]`,
	"set-share":          `{"path":"{user}","shares":2}`, "add-credit": `{"user":"{user}","amount":1,"source":"shot %d"}`,
	"submit-openjd":    `{"template":{"text":"{specificationVersion: jobtemplate-2023-09, name: a, steps: [{name: s, script: {actions: {onRun: {command: 'true'}}}}]}"},"job":{"user":"{user}","status":"blocked"}}`,
	"check-openjd":     `{"template":{"text":"a"},"job":{"user":"{user}"}}`,
	"check-submission": `{"user":"{user}","command":["true"],"range":"1-2"}`,
	"try-submission":   `{"user":"{user}","command":["true"],"range":"1-2"}`,
	"submit":           `{"user":"{user}","command":["true"],"range":"1-2","status":"blocked"}`,
	"modify-job":       `{"priority":7}`,
	"order-jobs":       `{"jobs":[{job}]}`, "create-token": `{"user":"{user}","role":"user"}`,
	"rotate-token": `{"overlap_seconds":60}`,
	"sync":         `{"host":"h9","protocol":1,"machine_id":"m","boot_id":"b","state_id":"s","incarnation":"%d","sequence":1,"epoch":0,"slots":0,"memory":{"total":1,"available":1}}`,
	"add-user":     `{"name":"added-{user}","role":"user"}`, "set-user": `{"groups":["fx"]}`,
	"invite-user": `{"ttl_seconds":60}`, "login": `{"name":"ws"}`, "sso-login": `{"name":"ws","device_code":"x"}`,
	"set-profile": `{"seconds":5}`, "report-resource": `{"used_outside":0}`,
	"append-log":     `{"attempt":{"job":1,"item":0,"number":1},"offset":0,"data":""}`,
	"append-picture": `{"attempt":{"job":1,"item":0,"number":1},"code":"picture_missing"}`,
	"ship-ends":      `{"host":"h1","audit":"x"}`,
}

// pathFor is the path of an endpoint, of that job.
func pathFor(e api.Endpoint, job string) string {
	return thing{job, "h1", "user-u", "0000000000000000"}.replacer().Replace(e.Path)
}

// letters are the letters of callers and their roles. The stranger belongs to group fx, which l leads and g belongs to.
var letters = map[byte]api.Role{'a': api.Admin, 'o': api.Operator, 'l': api.User, 'g': api.User, 'u': api.User,
	'r': api.ReadOnly, 'w': api.Worker}

// matrix is a farm with users of all roles and their jobs, ended ones too.
type matrix struct {
	*rig
	admin   *api.Client
	callers []caller
	things  map[string]map[string]thing // of a user, by whose they are
	sent    int
	reached map[string]bool // endpoint and letter that had an answer of success
}

// kinds of objects.
var whose = []string{"own", "own ended", "other's", "other's ended", "missing", "deleted"}

func startMatrix(t *testing.T) *matrix {
	m := &matrix{things: map[string]map[string]thing{}, reached: map[string]bool{}}
	m.rig = startRig(t, func(c *settings.Config, o *Options) {
		c.UserSubmitted, c.UserChanges, c.UserSubmissions, c.TokenStreams = 0, 0, 0, 1000
		reread := *c
		o.Reload = func() (Reloaded, error) { return Reloaded{Config: reread}, nil }
	})
	m.admin = m.client("boss", api.Admin)
	worker := m.agent("h1", 8)
	worker.beat(0)
	m.callers = nobodies(t, m.rig)
	users := []string{"stranger"}
	m.addUser("stranger", api.User, []string{"fx"}, nil)
	for letter, role := range letters {
		user := "user-" + string(letter)
		m.addUser(user, role, map[byte][]string{'g': {"fx"}, 'u': {"comp"}}[letter],
			map[byte][]string{'l': {"fx"}, 'u': {"comp"}}[letter])
		users = append(users, user)
		m.callers = append(m.callers, caller{letter, string(role), user, m.token(user, role)})
	}
	for _, user := range users {
		m.things[user] = m.thingsOf(user, worker)
	}
	for user, things := range m.things {
		if user != "stranger" {
			things["other's"], things["other's ended"] = m.things["stranger"]["own"], m.things["stranger"]["own ended"]
		}
	}
	worker.sync.Slots = 0 // what is let go from now on stays where it is
	worker.beat(0)
	eventually(t, "the host is shown as it is now", func() bool { // the view is up to a second old
		hosts := must[[]api.Host](t, m.admin, api.ListHosts, nil, nil)
		return len(hosts) == 1 && hosts[0].Slots.Total == 0
	})
	return m
}

// addUser adds a user, and one of a similar name that is there to be removed, as is an account, and a publication to be
// accepted.
func (m *matrix) addUser(name string, role api.Role, groups, leads []string) {
	if role == api.Worker {
		return
	}
	must[api.Publication](m.t, m.client("author", api.User), api.Report, nil, api.Publication{Source: "spare-" + name})
	must[api.Account](m.t, m.admin, api.AddAccount, nil, api.Account{Path: "spare-" + name})
	for _, one := range []string{name, "spare-" + name} {
		must[api.Person](m.t, m.admin, api.AddPerson, nil,
			api.PersonRequest{Name: one, Role: string(role), Groups: groups, Leads: leads})
	}
}

// thingsOf makes a blocked job, a job that has run, a removed job, and tokens.
func (m *matrix) thingsOf(user string, worker *agent) map[string]thing {
	submit := func(r api.SubmitRequest) string {
		r.User, r.Command = user, []string{"true"}
		return fmt.Sprint(must[api.SubmitReply](m.t, m.admin, api.Submit, nil, r).Job)
	}
	ended, removed := submit(api.SubmitRequest{Range: "1"}), submit(api.SubmitRequest{Range: "1"})
	worker.until("both jobs run", func() bool { return len(worker.running) == 2 })
	for id := range worker.running {
		must[api.LogReply](m.t, worker.client, api.AppendLog, nil,
			api.LogChunk{Attempt: id, Data: chunkOf(1, "output"), Final: true})
		must[struct{}](m.t, worker.client, api.AppendPicture, nil, api.Picture{Attempt: id, Data: jpegOf("a")})
	}
	worker.finish(0)
	worker.beat(0)
	eventually(m.t, "the removal of an ended job", func() bool {
		return m.admin.Call(m.t.Context(), api.RemoveJob, params("job", removed), nil, nil) == nil
	})
	revoked := must[api.TokenReply](m.t, m.admin, api.CreateToken, nil, api.TokenRequest{User: user, Role: "user"}).ID
	must[api.RevokeReply](m.t, m.admin, api.RevokeToken, params("token", revoked), nil)
	token := must[api.TokenReply](m.t, m.admin, api.CreateToken, nil, api.TokenRequest{User: user, Role: "user"}).ID
	return map[string]thing{
		"own":       {submit(api.SubmitRequest{Range: "1-2", Status: "blocked"}), "h1", user, token},
		"own ended": {ended, "h1", user, token},
		"missing":   {"99999", "h404", "nobody-known", "0000000000000000"},
		"deleted":   {removed, "h404", user, revoked},
	}
}

// nobodies are callers whose credential does not count.
func nobodies(t *testing.T, r *rig) []caller {
	t.Helper()
	good, revoked := r.token("u1", api.User), r.token("u1", api.User)
	parts, _ := credentials.Parse(good)
	revokedParts, _ := credentials.Parse(revoked)
	if ok, err := r.store.RevokeToken(t.Context(), revokedParts.ID); err != nil || !ok {
		t.Fatal(ok, err)
	}
	_, expired, err := credentials.Make(t.Context(), testKey, r.store,
		credentials.Request{User: "u1", Role: api.User, Days: 1})
	if err != nil {
		t.Fatal(err)
	}
	expired.ID, expired.ExpiresAt = "00000000000000ee", time.Now().Add(-time.Minute)
	expired.MAC = macOf(testKey, expired, parts.Secret)
	if err := r.store.CreateToken(t.Context(), expired); err != nil {
		t.Fatal(err)
	}
	return []caller{
		{'-', "none", "u1", ""}, {'-', "broken", "u1", "qb_user_x"}, {'-', "revoked", "u1", revoked},
		{'-', "expired", "u1", "qb_user_00000000000000ee_" + parts.Secret},
		{'-', "role raised", "u1", "qb_admin_" + parts.ID + "_" + parts.Secret},
		{'-', "secret of another", "u1", "qb_user_" + parts.ID + "_" + revokedParts.Secret},
	}
}

// send makes the request of an endpoint, or the same with another method.
func (m *matrix) send(e api.Endpoint, method string, c caller, x thing) *http.Response {
	m.sent++
	body := ""
	if e.ID == api.RemovePerson.ID {
		x.user = "spare-" + x.user
	}
	switch {
	case e.ID == "enrol":
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			m.t.Fatal(err)
		}
		enrolment := api.Enrolment{Protocol: api.Protocol, Host: "h9", MachineID: "m", StateID: "s", PublicKey: public,
			Time: time.Now().Unix()}
		enrolment.Signature = ed25519.Sign(private, enrolment.Signed())
		body = encoded(enrolment)
	case strings.Contains(bodies[e.ID], "%d"):
		body = x.replacer().Replace(fmt.Sprintf(bodies[e.ID], m.sent))
	default:
		body = x.replacer().Replace(bodies[e.ID])
	}
	path := e.Path
	switch e.ID {
	case api.WhatIf.ID:
		path += "?lock={host}"
	case api.FindInLog.ID:
		path += "?text=x"
	case api.ListProfiles.ID, api.SetProfile.ID, api.ForgetProfile.ID:
		path += "?user={user}"
	}
	resp := m.raw(method, x.replacer().Replace(path), c.token, body, nil)
	m.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// verdict is what a call must meet: "" if it is allowed, else the kind of the refusal.
func verdict(e api.Endpoint, c caller, whose string) api.Kind {
	right, _ := rightsTo(e)
	may := cmp.Or(right.others, "aolgurw-")
	if may == "*" {
		may = logReaders["all"]
	}
	ofJob, others := strings.Contains(e.Path, "{job}"), strings.HasPrefix(whose, "other's")
	gone, ofUser := whose == "missing" || whose == "deleted", strings.HasPrefix(e.Path, api.GetPerson.Path)
	ofProfile := strings.HasPrefix(e.Path, api.ListProfiles.Path)
	switch {
	case strings.IndexByte(right.roles, c.letter) < 0 && c.letter == '-':
		return api.KindUnauthorized
	case strings.IndexByte(right.roles, c.letter) < 0:
		return api.KindForbidden // also of what is not there: a caller without the right learns nothing
	case ((ofJob || e.ID == api.RevokeOwn.ID) && others || (ofUser || ofProfile) && (others || whose == "missing")) &&
		strings.IndexByte(may, c.letter) < 0:
		return api.KindForbidden
	case (e.ID == api.Submit.ID || e.ID == api.CheckSubmission.ID || e.ID == api.TrySubmission.ID ||
		e.ID == api.SubmitOpenJD.ID || e.ID == api.CheckOpenJD.ID) &&
		(others || whose == "missing") && c.letter != 'a':
		return api.KindForbidden // for somebody else
	case (e.ID == api.RemoveJob.ID || e.ID == api.RevokeToken.ID || e.ID == api.RevokeOwn.ID) && whose == "deleted":
		return "" // it is gone, as is asked
	case whose == "missing" && ofUser ||
		gone && (ofJob || strings.Contains(e.Path, "{token}") || strings.Contains(e.Path, "{host}")):
		return api.KindNotFound
	}
	return ""
}

// answered says whether an answer is what the verdict asks for.
func answered(want api.Kind, status int) bool {
	switch want {
	case api.KindUnauthorized: // after too many failures the answer no longer depends on the credential
		return status == http.StatusUnauthorized || status == http.StatusTooManyRequests
	case api.KindForbidden:
		return status == http.StatusForbidden
	case api.KindNotFound:
		return status == http.StatusNotFound
	}
	return status < 400 || status == http.StatusNotFound || status == http.StatusConflict ||
		status == http.StatusUnprocessableEntity
}

// methods are those by which an endpoint is reached.
func methods(e api.Endpoint) []string {
	if e.Method == http.MethodGet {
		return []string{http.MethodGet, http.MethodHead}
	}
	return []string{e.Method}
}

// state is all that requests may change, as an admin sees it.
func (m *matrix) state() string {
	var all []string
	for _, e := range []api.Endpoint{api.ListJobs, api.ListPeople, api.ListTokens, api.ShareSet, api.ListAccounts,
		api.ListBudgets, api.Publications, api.ListCredit, api.ListHosts} {
		var rows []map[string]any
		if err := m.admin.Call(m.t.Context(), e, nil, nil, &rows); err != nil {
			m.t.Fatal(err)
		}
		for _, row := range rows {
			for _, name := range []string{"last_used_at", "last_seen_at", "state", "reason", "remark", "code", "memory",
				"claims"} {
				delete(row, name) // what time changes
			}
			line, err := json.Marshal(row)
			if err != nil {
				m.t.Fatal(err)
			}
			all = append(all, string(line))
		}
	}
	for _, row := range must[[]api.AuditEntry](m.t, m.admin, api.AuditLog, params("limit", 1000), nil) {
		if row.Outcome == "done" {
			all = append(all, fmt.Sprint(row.ID, row.User, row.Verb, row.Object))
		}
	}
	return strings.Join(all, "\n")
}

// TestRights walks the matrix: first all that must be refused, which must leave the farm as it is; then all else.
func TestRights(t *testing.T) {
	t.Parallel()
	m := startMatrix(t)
	before := m.state()
	m.walk(t, true)
	m.otherMethods(t)
	if after := m.state(); after != before {
		t.Errorf("refused requests changed the farm from\n%s\nto\n%s", before, after)
	}
	m.walk(t, false)
	m.manyJobs(t)
	// A host that is heard is neither dead nor removed, no host waits, the brake is not engaged, the workers' ends have
	// one reader at a time, no caller is a page, and there is neither single sign-on nor a mail server nor a resource.
	conflicts := []string{"report-resource", "confirm-dead", "remove-host", "approve-host", "release-brake", "read-ends",
		"test-mail", "sso-begin", "sso-login", "prove-server"}
	for _, e := range api.Endpoints {
		for _, c := range m.callers {
			if verdict(e, c, "own") == "" && c.letter != '-' && !m.reached[e.ID+string(c.letter)] &&
				!slices.Contains(conflicts, e.ID) {
				t.Errorf("%s as %s never succeeds, so that its line shows nothing", e.ID, c.name)
			}
		}
	}
	t.Logf("%d requests", m.sent)
}

// walk sends what must be refused, or all else.
func (m *matrix) walk(t *testing.T, refused bool) {
	t.Helper()
	endpoints := slices.DeleteFunc(slices.Clone(api.Endpoints), func(e api.Endpoint) bool {
		return e.ID == api.RemoveJob.ID || e.ID == api.RevokeToken.ID
	})
	for _, e := range append(endpoints, api.RemoveJob, api.RevokeToken) { // these last: others want what they remove
		if _, ok := rightsTo(e); !ok {
			t.Errorf("endpoint %s has no line in the table of rights", e.ID)
			continue
		}
		for _, c := range m.callers {
			for _, kind := range whose {
				want := verdict(e, c, kind)
				if refused != (want != "") {
					continue
				}
				x := m.things["stranger"][kind]
				if c.letter != '-' {
					x = m.things[c.user][kind]
				}
				m.call(t, e, c, kind, x, want)
			}
		}
	}
}

func (m *matrix) call(t *testing.T, e api.Endpoint, c caller, kind string, x thing, want api.Kind) {
	t.Helper()
	for _, method := range methods(e) {
		resp := m.send(e, method, c, x)
		flood := e.Role == api.Anyone && method == http.MethodPost && resp.StatusCode == http.StatusTooManyRequests
		if !answered(want, resp.StatusCode) && !flood {
			t.Errorf("%s %s as %s on %s object: status %d, want %q", method, e.ID, c.name, kind, resp.StatusCode, want)
		}
		if resp.StatusCode < 300 {
			m.reached[e.ID+string(c.letter)] = true
		}
		if want == "" && method != http.MethodHead && e.ID != "events" && e.ID != "watch" && e.ID != "read-ends" {
			fits(t, e, resp)
		}
		resp.Body.Close()
	}
}

// otherMethods checks that a path accepts the methods of its endpoints only, for every caller.
func (m *matrix) otherMethods(t *testing.T) {
	t.Helper()
	known := map[string][]string{}
	for _, e := range api.Endpoints {
		known[e.Path] = append(known[e.Path], methods(e)...)
	}
	for _, e := range api.Endpoints {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND",
			"get", "QB"} {
			if slices.Contains(known[e.Path], method) {
				continue
			}
			for _, c := range m.callers {
				x := m.things["stranger"]["own"]
				if c.letter != '-' {
					x = m.things[c.user]["own"]
				}
				resp := m.send(e, method, c, x)
				resp.Body.Close()
				right := resp.StatusCode == http.StatusMethodNotAllowed || resp.StatusCode == http.StatusNotFound
				if c.letter == '-' {
					right = answered(api.KindUnauthorized, resp.StatusCode)
				}
				if !right {
					t.Errorf("%s %s as %s: status %d", method, e.Path, c.name, resp.StatusCode)
				}
			}
		}
		// once for each path
		known[e.Path] = append(known[e.Path], "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND",
			"get", "QB")
	}
}

// manyJobs: an order on many jobs asks for the right to each.
func (m *matrix) manyJobs(t *testing.T) {
	t.Helper()
	for _, c := range m.callers {
		if !strings.Contains("aolgu", string(c.letter)) {
			continue
		}
		things := m.things[c.user]
		body := fmt.Sprintf(`{"jobs":[%s,%s,99999]}`, things["own"].job, things["other's"].job)
		reply := decode[api.ManyReply](t, text(t, m.raw("POST", "/v1/orders/block", c.token, body, nil)))
		want := []string{"ok", "ok", "not-found"}
		if c.letter == 'u' || c.letter == 'g' {
			want[1] = "forbidden"
		}
		var got []string
		for _, r := range reply.Results {
			got = append(got, r.Code)
		}
		if !slices.Equal(got, want) {
			t.Errorf("an order on own, another's and a missing job as %s: %v, want %v", c.name, got, want)
		}
	}
}
