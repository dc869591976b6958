package serve

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

func clientOf(t *testing.T, r *rig, token string) *api.Client {
	t.Helper()
	c, err := api.NewClient(r.url, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdle)
	return c
}

// TestPeople: a user's row bounds tokens, its changes end them, the trail has it before and after, and bad input is
// named.
func TestPeople(t *testing.T) {
	r := startRig(t)
	admin := r.client("boss", api.Admin)
	early := clientOf(t, r, r.token("ada", api.User))
	must[api.Ping](t, early, api.PingFarm, nil, nil)
	ada := must[api.Person](t, admin, api.AddPerson, nil,
		api.PersonRequest{Name: "ada", Role: "user", Groups: []string{"fx", "comp", "fx"}})
	if strings.Join(ada.Groups, " ") != "comp fx" || ada.CreatedBy != "boss" || !ada.Sealed || ada.Disabled {
		t.Errorf("added %+v", ada)
	}
	refused(t, api.KindUnauthorized, early, api.PingFarm, nil, nil)
	refused(t, api.KindConflict, admin, api.AddPerson, nil, api.PersonRequest{Name: "ada", Role: "user"})
	c := clientOf(t, r, r.token("ada", api.Admin)) // more than the row gives
	if p := must[api.Ping](t, c, api.PingFarm, nil, nil); p.Role != "user" {
		t.Errorf("a token gives more than the row: %+v", p)
	}
	must[api.Person](t, c, api.GetPerson, params("user", "ada"), nil)
	change := func(what api.PersonChange) api.Person {
		return must[api.Person](t, admin, api.ChangePerson, params("user", "ada"), what)
	}
	if p := change(api.PersonChange{Leads: &[]string{"fx"}}); len(p.Leads) != 1 || len(p.Groups) != 2 {
		t.Errorf("changed to %+v", p)
	}
	must[api.Ping](t, c, api.PingFarm, nil, nil) // other groups end no token
	change(api.PersonChange{Role: ptr("operator")})
	refused(t, api.KindUnauthorized, c, api.PingFarm, nil, nil)
	c = clientOf(t, r, r.token("ada", api.User))
	if p := must[api.Ping](t, c, api.PingFarm, nil, nil); p.Role != "user" {
		t.Errorf("the row makes a token more than it was made for: %+v", p)
	}
	change(api.PersonChange{Disabled: ptr(true)})
	refused(t, api.KindUnauthorized, c, api.PingFarm, nil, nil)
	refused(t, api.KindForbidden, clientOf(t, r, r.token("ada", api.User)), api.PingFarm, nil, nil)
	change(api.PersonChange{Disabled: ptr(false)})
	c = clientOf(t, r, r.token("ada", api.User))
	must[api.Ping](t, c, api.PingFarm, nil, nil)
	must[api.PersonReply](t, admin, api.RemovePerson, params("user", "ada"), nil)
	refused(t, api.KindUnauthorized, c, api.PingFarm, nil, nil)
	refused(t, api.KindNotFound, admin, api.RemovePerson, params("user", "ada"), nil)
	for what, bad := range map[string]api.PersonRequest{
		"root": {Name: "root", Role: "user"}, "worker": {Name: "worker", Role: "user"}, "a b": {Name: "a b", Role: "user"},
		"king":      {Name: "x", Role: "king"},
		"f x":       {Name: "x", Role: "user", Groups: []string{"f x"}},
		"submit_as": {Name: "x", Role: "user", SubmitAs: []string{"root"}},
	} {
		if text := refused(t, api.KindInvalid, admin, api.AddPerson, nil, bad); !strings.Contains(text, what) {
			t.Errorf("%+v is refused without its reason: %s", bad, text)
		}
	}
	rows, err := r.store.AuditLog(t.Context(), store.AuditQuery{User: "boss"})
	var told []string
	for _, row := range rows {
		if row.Outcome == "done" {
			told = append(told, row.Verb)
		}
		if row.Verb == "set-user" && (!strings.Contains(row.Detail, `"before"`) || !strings.Contains(row.Detail, `"after"`)) {
			t.Errorf("the trail does not tell what was and what is: %+v", row)
		}
	}
	if got := strings.Join(told, " "); err != nil || got != "remove-user set-user set-user set-user set-user add-user" {
		t.Errorf("the trail tells of %s, %v", got, err)
	}
}

// TestAttackUserRow: write access to table person gives no rights. An added row, a changed row and a row with another
// name are refused, and so is their user.
func TestAttackUserRow(t *testing.T) {
	for what, forge := range map[string]func(*store.Person){
		"another role": func(p *store.Person) {
			p.Role = "admin"
		}, "another group to lead": func(p *store.Person) { p.Leads = []string{"fx"} },
		"enabled": func(p *store.Person) {
			p.Disabled = false
		}, "submits for all": func(p *store.Person) { p.SubmitAs = []string{"*"} },
		"another name": func(p *store.Person) { p.Name = "mallory" },
	} {
		r := startRig(t)
		now := time.Now().UTC().Truncate(time.Microsecond).Add(-time.Minute)
		row := store.Person{Name: "eve", Role: "user", Disabled: what == "enabled", CreatedAt: now, Since: now}
		if what == "another name" {
			row.Role = "admin"
		}
		row.Seal = credentials.SealPerson(testKey, row)
		forge(&row)
		if done, err := r.store.AddPerson(t.Context(), row); err != nil || !done {
			t.Fatal(done, err)
		}
		resp := r.raw(http.MethodGet, "/v1/ping", r.token(row.Name, api.Admin), "", nil)
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d", what, resp.StatusCode)
		}
		admin := r.client("boss", api.Admin)
		if p := must[api.Person](t, admin, api.GetPerson, params("user", row.Name), nil); p.Sealed {
			t.Errorf("%s: the list does not tell", what)
		}
		refused(t, api.KindConflict, admin, api.ChangePerson, params("user", row.Name),
			api.PersonChange{Disabled: ptr(false)})
		must[api.PersonReply](t, admin, api.RemovePerson, params("user", row.Name), nil)
	}
}

// TestSubmitAs: who may submit for whom.
func TestSubmitAs(t *testing.T) {
	r := startRig(t)
	admin := r.client("boss", api.Admin)
	for _, p := range []api.PersonRequest{
		{Name: "wrangler", Role: "user", SubmitAs: []string{"ada"}},
		{Name: "pipeline", Role: "user", SubmitAs: []string{"*"}},
		{Name: "chief", Role: "operator", SubmitAs: []string{}}, {Name: "ada", Role: "user"}, {Name: "lord", Role: "admin"},
	} {
		must[api.Person](t, admin, api.AddPerson, nil, p)
	}
	for who, may := range map[string]string{"wrangler": "ada", "pipeline": "ada bob", "chief": "", "ada": "",
		"lord": "ada bob root lord chief"} {
		c := clientOf(t, r, r.token(who, api.Admin))
		for _, owner := range []string{"ada", "bob", "root", "lord", "chief"} {
			err := c.Call(t.Context(), api.Submit, nil,
				api.SubmitRequest{User: owner, Command: []string{"true"}, Status: "blocked"}, nil)
			if allowed := owner == who || strings.Contains(" "+may+" ", " "+owner+" "); allowed != (err == nil) ||
				!allowed && api.Refusal(err).Kind != api.KindForbidden {
				t.Errorf("%s submits for %s: %v", who, owner, err)
			}
		}
	}
}

// TestFollowedOutputEndsWithTheRight: who follows another's output does so as long as he may.
func TestFollowedOutputEndsWithTheRight(t *testing.T) {
	t.Parallel()
	r := startRig(t, func(c *settings.Config, _ *Options) { c.LogAccess = "group" })
	admin := r.client("boss", api.Admin)
	must[api.Person](t, admin, api.AddPerson, nil, api.PersonRequest{Name: "ada", Role: "user", Groups: []string{"fx"}})
	must[api.Person](t, admin, api.AddPerson, nil, api.PersonRequest{Name: "bob", Role: "user", Groups: []string{"fx"}})
	job := must[api.SubmitReply](t, admin, api.Submit, nil,
		api.SubmitRequest{User: "ada", Command: []string{"true"}, Status: "blocked"})
	r.writeLog(facts.AttemptID{Job: facts.JobID(job.Job), Item: 0, Number: 1}, "output")
	resp := r.raw(http.MethodGet, "/v1/jobs/1/items/0/log?follow=true", r.token("bob", api.User), "", nil)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("a member of the group is answered %d", resp.StatusCode)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, resp.Body)
		ended <- err
	}()
	must[api.Person](t, admin, api.ChangePerson, params("user", "ada"), api.PersonChange{Groups: &[]string{}})
	select {
	case err := <-ended:
		if err == nil {
			t.Error("what was cut off looks like the end of the output")
		}
	case <-time.After(2 * time.Minute):
		t.Error("bob reads on")
	}
}

// TestLogAccess: who reads the output of another's items, by each value of the setting; commands are hidden in all of
// them.
func TestLogAccess(t *testing.T) {
	for access, readers := range logReaders {
		r := startRig(t, func(c *settings.Config, _ *Options) { c.LogAccess = access })
		admin := r.client("boss", api.Admin)
		must[api.Person](t, admin, api.AddPerson, nil,
			api.PersonRequest{Name: "stranger", Role: "user", Groups: []string{"fx"}})
		must[api.SubmitReply](t, admin, api.Submit, nil,
			api.SubmitRequest{User: "stranger", Command: []string{"true", "secret"}, Status: "blocked",
				Env: map[string]string{"KEY": "secret"}})
		for letter, p := range map[byte]api.PersonRequest{
			'a': {Role: "admin"}, 'o': {Role: "operator"}, 'l': {Role: "user", Leads: []string{"fx"}},
			'g': {Role: "user", Groups: []string{"comp", "fx"}},
			'u': {Role: "user", Groups: []string{"comp"}}, 'r': {Role: "read-only", Groups: []string{"fx"}},
		} {
			p.Name = "user-" + string(letter)
			must[api.Person](t, admin, api.AddPerson, nil, p)
			token := r.token(p.Name, api.Admin)
			resp := r.raw(http.MethodGet, "/v1/jobs/1/items/0/log", token, "", nil)
			resp.Body.Close()
			if may := strings.IndexByte(readers, letter) >= 0; may != (resp.StatusCode == http.StatusNotFound) ||
				!may && resp.StatusCode != http.StatusForbidden {
				// it has not run yet
				t.Errorf("%s: %c reads another's output: %d", access, letter, resp.StatusCode)
			}
			shown := text(t, r.raw(http.MethodGet, "/v1/jobs/1", token, "", nil))
			if hidden := !strings.Contains(shown, "secret"); hidden == (letter == 'a' || letter == 'o') {
				t.Errorf("%s: %c is shown %s", access, letter, shown)
			}
		}
	}
}

// TestLogin: a code makes one token, which is named, listed and revoked by its user, and ends with the user; the code
// does nothing else, and no other token takes its place.
func TestLogin(t *testing.T) {
	r := startRig(t)
	admin := r.client("boss", api.Admin)
	refused(t, api.KindNotFound, admin, api.Invite, params("user", "ada"), api.InviteRequest{})
	must[api.Person](t, admin, api.AddPerson, nil, api.PersonRequest{Name: "ada", Role: "user", Groups: []string{"fx"}})
	code := must[api.TokenReply](t, admin, api.Invite, params("user", "ada"), api.InviteRequest{TTLSeconds: 600})
	if left := time.Until(code.ExpiresAt); left > 10*time.Minute || *code.UsesLeft != 1 {
		t.Errorf("a code is %+v", code)
	}
	once := clientOf(t, r, code.Token)
	refused(t, api.KindForbidden, once, api.PingFarm, nil, nil)
	refused(t, api.KindInvalid, once, api.Login, nil, api.LoginRequest{Name: ""})
	refused(t, api.KindInvalid, once, api.Login, nil, api.LoginRequest{Name: "ws", Days: 9999})
	made := must[api.TokenReply](t, once, api.Login, nil, api.LoginRequest{Name: "ada@ws12", Days: 7})
	refused(t, api.KindUnauthorized, once, api.Login, nil, api.LoginRequest{Name: "ada@ws13"})
	ada := clientOf(t, r, made.Token)
	if p := must[api.Ping](t, ada, api.PingFarm, nil, nil); p.User != "ada" || p.Role != "user" {
		t.Errorf("logged in as %+v", p)
	}
	rows := must[[]api.AuditEntry](t, admin, api.AuditLog, params("user", "ada"), nil)
	if n := slices.IndexFunc(rows, func(a api.AuditEntry) bool {
		return a.Verb == "login" && a.Outcome == "done"
	}); n < 0 || !strings.Contains(string(rows[n].Detail), `"name":"ada@ws12"`) || rows[n].Token != code.ID {
		t.Errorf("the trail has no login: %+v", rows)
	}
	if text := refused(t, api.KindForbidden, ada, api.Login, nil, api.LoginRequest{Name: "more"}); !strings.Contains(text,
		"code of an invitation") {
		t.Errorf("a token makes another: %s", text)
	}
	list := must[[]api.TokenInfo](t, ada, api.OwnTokens, nil, nil)
	if len(list) != 2 || list[0].Name != "ada@ws12" || list[0].User != "ada" || list[1].ID != code.ID {
		t.Errorf("own tokens: %+v", list)
	}
	refused(t, api.KindForbidden, ada, api.RevokeOwn,
		params("token", must[[]api.TokenInfo](t, admin, api.OwnTokens, nil, nil)[0].ID), nil)
	other := must[api.TokenReply](t,
		clientOf(t, r, must[api.TokenReply](t, admin, api.Invite, params("user", "ada"), api.InviteRequest{}).Token),
		api.Login, nil, api.LoginRequest{Name: "laptop"})
	must[api.RevokeReply](t, ada, api.RevokeOwn, params("token", other.ID), nil)
	refused(t, api.KindUnauthorized, clientOf(t, r, other.Token), api.PingFarm, nil, nil)

	// A login that meets the removal of its user: the row is gone, and what was made counts for nothing.
	late := must[api.TokenReply](t, admin, api.Invite, params("user", "ada"), api.InviteRequest{})
	must[api.PersonReply](t, admin, api.RemovePerson, params("user", "ada"), nil)
	refused(t, api.KindUnauthorized, ada, api.PingFarm, nil, nil)
	refused(t, api.KindUnauthorized, clientOf(t, r, late.Token), api.Login, nil, api.LoginRequest{Name: "late"})
	text, _, err := credentials.Make(t.Context(), testKey, r.store,
		credentials.Request{User: "ada", Role: api.User, Days: 1, Name: "made meanwhile"})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, api.KindUnauthorized, clientOf(t, r, text), api.PingFarm, nil, nil)
	if log := r.log.String(); strings.Contains(log, code.Token) || strings.Contains(log, made.Token) {
		t.Error("the log holds a secret")
	}
}
