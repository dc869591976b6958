package supervisor

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"qb/api"
)

// A code begins one session, with the caller's role, which ends with the caller's token and begins no other.
func TestSession(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	admin := r.client("boss", api.Admin)
	giver := must[api.TokenReply](t, admin, api.CreateToken, nil, api.TokenRequest{User: "ada", Role: "user"})
	with := func(token string) *api.Client { return clientOf(t, r, token) }
	code := must[api.TokenReply](t, with(giver.Token), api.MakeCode, nil, nil)
	if left := time.Until(code.ExpiresAt); left > codeLife || code.UsesLeft == nil || *code.UsesLeft != 1 || code.Role != "user" || code.SessionOf != giver.ID {
		t.Errorf("the code is %+v", code.TokenInfo)
	}
	refused(t, api.KindForbidden, with(code.Token), api.PingFarm, nil, nil)
	refused(t, api.KindForbidden, with(code.Token), api.Login, nil, api.LoginRequest{Name: "x"})
	session := must[api.TokenReply](t, with(code.Token), api.BeginSession, nil, nil)
	if left := time.Until(session.ExpiresAt); left > sessionLife || left < sessionLife-time.Minute || session.UsesLeft != nil {
		t.Errorf("the session is %+v", session.TokenInfo)
	}
	refused(t, api.KindUnauthorized, with(code.Token), api.BeginSession, nil, nil)
	page := with(session.Token)
	if ping := must[api.Ping](t, page, api.PingFarm, nil, nil); ping.User != "ada" || ping.Role != "user" {
		t.Errorf("the session is of %s (%s)", ping.User, ping.Role)
	}
	refused(t, api.KindForbidden, page, api.BeginSession, nil, nil)
	refused(t, api.KindForbidden, page, api.MakeCode, nil, nil)
	refused(t, api.KindForbidden, page, api.ListTokens, nil, nil)
	mine := must[[]api.TokenInfo](t, page, api.OwnTokens, nil, nil)
	if len(mine) != 3 {
		t.Errorf("%+v", mine)
	}
	pasted := must[api.TokenReply](t, with(giver.Token), api.BeginSession, nil, nil) // a token does as well
	must[api.RevokeReply](t, page, api.RevokeOwn, params("token", pasted.ID), nil)
	refused(t, api.KindUnauthorized, with(pasted.Token), api.PingFarm, nil, nil)
	must[api.RevokeReply](t, admin, api.RevokeToken, params("token", giver.ID), nil)
	refused(t, api.KindUnauthorized, page, api.PingFarm, nil, nil)
}

// The codes of invitations and of joining hosts begin no session.
func TestSessionByOtherCodes(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	admin := r.client("boss", api.Admin)
	must[api.Person](t, admin, api.AddPerson, nil, api.PersonRequest{Name: "ada", Role: "user"})
	invited := must[api.TokenReply](t, admin, api.Invite, params("user", "ada"), api.InviteRequest{})
	refused(t, api.KindForbidden, clientOf(t, r, invited.Token), api.BeginSession, nil, nil)
	join, _ := r.joinToken(2)
	refused(t, api.KindForbidden, join, api.BeginSession, nil, nil)
	// A session of a login ends when its user is removed, as the login does.
	login := must[api.TokenReply](t, clientOf(t, r, invited.Token), api.Login, nil, api.LoginRequest{Name: "ada@ws"})
	session := must[api.TokenReply](t, clientOf(t, r, login.Token), api.BeginSession, nil, nil)
	must[api.PersonReply](t, admin, api.RemovePerson, params("user", "ada"), nil)
	refused(t, api.KindUnauthorized, clientOf(t, r, session.Token), api.PingFarm, nil, nil)
}

// watch sends all first, then what a commit has made durable of the items of the job; item-states and get-item say the same.
func TestWatch(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	c := r.client("ada", api.User)
	worker := r.agent("h1", 2)
	worker.beat(0)
	job := must[api.SubmitReply](t, c, api.Submit, nil, api.SubmitRequest{Name: "beauty", Command: []string{"true"}, Range: "1-3"}).Job
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	resp, err := c.Open(ctx, api.Watch, params("job", job), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	until := func(event, text string) {
		t.Helper()
		name := ""
		for lines.Scan() {
			if after, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				name = after
			} else if name == event && strings.Contains(lines.Text(), text) {
				return
			}
		}
		t.Fatalf("no event %s with %s: %v", event, text, lines.Err())
	}
	until("hello", `"jobs":["id",`)
	until("farm", `"slots":{`)
	until("jobs", `"beauty"`)
	worker.until("items run", func() bool { return len(worker.running) == 2 })
	worker.finish(0)
	worker.beat(0)
	until("items", `"states":"`)
	eventually(t, "the letters", func() bool {
		states := must[api.ItemStatesReply](t, c, api.ItemStates, params("job", job), nil).States
		return len(states) == 3 && strings.HasPrefix(states, "cc")
	})
	item := must[api.ItemReply](t, c, api.GetItem, params("job", job, "item", "2"), nil)
	if item.Item.Status != "complete" || len(item.Attempts) != 1 || item.Attempts[0].Host != "h1" {
		t.Errorf("%+v", item)
	}
	refused(t, api.KindNotFound, c, api.GetItem, params("job", job, "item", "4"), nil)
	hosts := must[api.ItemValuesReply](t, c, api.ItemValues, params("job", job, "of", "host"), nil)
	if !slices.Equal(hosts.Hosts, []string{"h1"}) || len(hosts.Values) < 2 || hosts.Values[0] != 1 || hosts.Values[1] != 1 {
		t.Errorf("two complete items of h1: %+v", hosts)
	}
	if tries := must[api.ItemValuesReply](t, c, api.ItemValues, params("job", job, "of", "attempts"), nil); tries.Spread == nil || tries.Spread.Count < 2 || tries.Spread.Most != 1 {
		t.Errorf("two complete items, once each: %+v", tries)
	}
	refused(t, api.KindInvalid, c, api.ItemValues, params("job", job, "of", "love"), nil)
	refused(t, api.KindNotFound, c, api.ItemValues, params("job", int64(99)), nil)
}

// A link of another site leads to the page and to nothing else, and the page cannot be put into another.
func TestLinkFromElsewhere(t *testing.T) {
	t.Parallel()
	r := startRig(t)
	follow := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}
	inside := follow.Clone()
	inside.Set("Sec-Fetch-Dest", "iframe")
	for _, c := range []struct {
		method, path string
		header       http.Header
		want         int
	}{
		{"GET", "/", follow, 200}, {"GET", "/", inside, 403}, {"POST", "/", follow, 403}, {"GET", "/v1/jobs", follow, 403}, {"GET", "/docs", follow, 403},
		{"GET", "/assets/" + pageHash() + "/app.js", follow, 403}, {"GET", "/assets/" + pageHash() + "/app.js", nil, 200}, {"GET", "/assets/x/app.js", nil, 404}, {"GET", "/", nil, 200},
	} {
		resp := r.raw(c.method, c.path, "", "", c.header)
		resp.Body.Close()
		if resp.StatusCode != c.want {
			t.Errorf("%s %s with %v: status %d, want %d", c.method, c.path, c.header, resp.StatusCode, c.want)
		}
	}
}
