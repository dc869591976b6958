package serve

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"qb/api"
	"qb/supervisor/access/credentials"
	"qb/supervisor/farm/profiles"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/store/rules"
	"qb/supervisor/wire/settings"
	"qb/supervisor/wire/translate"
)

// heaviest are for each endpoint the heaviest requests that it accepts.
var heaviest = map[string]func(h *heavyRig) []request{
	"check-submission": heavySubmissions, "try-submission": heavySubmissions, "submit": heavySubmissions,
	"submit-openjd": heavyTemplates,
	"check-openjd": func(h *heavyRig) []request {
		brackets := api.OpenJDRequest{Template: api.OpenJDDocument{Text: strings.Repeat("[", 1<<20)}}
		return append(heavyTemplates(h), request{name: "brackets", body: encoded(brackets)})
	},
	"modify-job": heavyModifications, "order-job": heavyOrders,
	"order-jobs": func(h *heavyRig) []request {
		jobs := make([]int64, 1000)
		for n := range jobs {
			jobs[n] = int64(n + 1)
		}
		body := encoded(map[string]any{"jobs": jobs})
		return []request{{name: "block of 1,000", path: "/v1/orders/block", body: body},
			{name: "unblock of 1,000", path: "/v1/orders/unblock", body: body}}
	},
	"remove-job": func(h *heavyRig) []request {
		r := plain()
		r.Range = "1-1000000"
		job := h.submit(r)
		must[api.ActionReply](h.t, h.user, api.OrderJob, api.Params{"job": fmt.Sprint(job), "action": "kill"},
			api.ActionRequest{})
		eventually(h.t, "the end of a large job", func() bool {
			return must[api.Job](h.t, h.user, api.GetJob, api.Params{"job": fmt.Sprint(job)}, nil).Status == "killed"
		})
		return []request{{name: "a large one", path: h.jobPath(job, "")}}
	},
	"list-jobs": func(h *heavyRig) []request {
		ids := make([]string, 1000)
		for n := range ids {
			ids[n] = strconv.Itoa(n + 1)
		}
		return []request{
			{name: "a page", query: "?limit=1000"}, {name: "ids", query: "?limit=1000&ids=" + strings.Join(ids, ",")},
			{name: "by expression", query: "?limit=1000&expression=" +
				url.QueryEscape(strings.Repeat(`(name = "~(a|b)+x" or not priority > 1) and `, 90)+"id > 0")},
			{name: "of nobody", query: "?limit=1&status=failed&user=" + strings.Repeat("x", 255)},
		}
	},
	"archive-job": func(h *heavyRig) []request {
		return []request{{name: "a heavy job", path: h.jobPath(h.heavyJob(), "/archive")},
			{name: "a million items", path: h.jobPath(h.marked(), "/archive")}}
	},
	"job-order": func(h *heavyRig) []request { return []request{{name: "all jobs", path: "/v1/hosts/rn000/joborder"}} },
	"host-order": func(h *heavyRig) []request {
		return []request{{name: "choosy", path: h.jobPath(h.submit(choosy()), "/hostorder")}}
	},
	"get-job": func(h *heavyRig) []request { return []request{{name: "large", path: h.jobPath(h.heavyJob(), "")}} },
	"list-items": func(h *heavyRig) []request {
		return []request{{name: "marks", path: h.jobPath(h.marked(), "/items?limit=10000")}}
	},
	"list-attempts": func(h *heavyRig) []request {
		return []request{{name: "a page", path: h.jobPath(1, "/attempts?limit=10000")}}
	},
	"job-history": func(h *heavyRig) []request {
		return []request{{name: "a page", path: h.jobPath(1, "/history?limit=10000")}}
	},
	"explain-job": func(h *heavyRig) []request {
		return []request{
			{name: "choosy", path: h.jobPath(h.submit(choosy()), "/explain")},
			{name: "many links", path: h.jobPath(h.submit(h.linked()), "/explain")},
		}
	},
	"what-if": func(h *heavyRig) []request {
		return []request{{name: "a choosy job", query: fmt.Sprintf("?job=%d&max_cpus=0", h.submit(choosy()))}}
	},
	"item-log": func(h *heavyRig) []request {
		return []request{
			{name: "4 MB", path: h.jobPath(1, "/items/1/log")},
			{name: "long name", path: h.jobPath(1, "/items/"+fmt.Sprintf("%01000d1", 0)+"/log")},
			{name: "followed", path: h.jobPath(1, "/items/1/log?follow=true"), stream: true},
		}
	},
	"session-log":  func(h *heavyRig) []request { return []request{{name: "none", path: h.jobPath(1, "/instances/0/log")}} },
	"item-picture": heavyPictureRead,
	"find-in-log": func(h *heavyRig) []request {
		return []request{{name: "4 MB", path: h.jobPath(1, "/items/1/log/find?text=absent")}}
	},
	"history": one("a page", "?limit=1000&user=nobody"), "timeline": one("a week", "?by=job"),
	"list-hosts": one("all", ""), "slot-map": one("all", ""),
	"get-job-type": func(*heavyRig) []request { return []request{{name: "one", path: "/v1/types/blender"}} },
	"get-host":     func(h *heavyRig) []request { return []request{{name: "one", path: "/v1/hosts/rn000"}} },
	"host-configuration": func(h *heavyRig) []request {
		return []request{{name: "one", path: "/v1/hosts/rn000/configuration"}}
	},
	"supervisor-configuration": one("all", ""), "snapshot": one("all", ""), "ping": one("ping", ""),
	"list-tokens": one("all", ""), "list-shares": one("all", ""),
	"share-settings": one("all", ""), "list-credit": one("all", ""), "openapi": one("all", ""),
	"openapi-json": one("all", ""), "docs": one("all", ""), "health": one("all", ""), "metrics": one("all", ""),
	"test-mail": func(h *heavyRig) []request { return nil }, // waits for a mail server, outside of the loop
	"reread":    func(h *heavyRig) []request { return nil }, // reads a file that only the administrator writes
	"lock-host": onHost("/lock"), "restart-host": onHost("/restart"), "unlock-host": onHost("/unlock"),
	"confirm-dead": func(h *heavyRig) []request {
		return []request{{name: "of thousands of items", path: "/v1/hosts/large/confirm-dead"}}
	},
	"release-brake": func(h *heavyRig) []request {
		h.silence()
		return []request{{name: "of all hosts"}}
	},
	"approve-host": func(h *heavyRig) []request { return nil }, // reads what list-tokens reads
	"remove-host":  func(h *heavyRig) []request { return []request{{name: "a large one", path: "/v1/hosts/large"}} },
	"events":       func(h *heavyRig) []request { return []request{{name: "all", stream: true}} },
	"audit-log":    one("a page", "?limit=1000"),
	"create-token": bodyOf(fmt.Sprintf(`{"user":%q,"role":"user"}`, strings.Repeat("x", 255))),
	"rotate-token": func(h *heavyRig) []request {
		return []request{{name: "one", path: "/v1/tokens/" + h.someToken() + "/rotate", body: `{"overlap_seconds":60}`}}
	},
	"list-users": func(h *heavyRig) []request { h.manyUsers(); return []request{{name: "thousands"}} },
	"add-user":   bodyOf(heavyUser(strings.Repeat("x", 255))),
	"get-user":   func(h *heavyRig) []request { return nil }, // reads what list-users reads
	"set-user": func(h *heavyRig) []request {
		h.manyUsers()
		return []request{{name: "one", path: "/v1/users/user1", body: heavyUser("")}}
	},
	"invite-user": func(h *heavyRig) []request {
		h.manyUsers()
		return []request{{name: "one", path: "/v1/users/user2/invite", body: "{}"}}
	},
	// takes codes alone; it makes one token, as create-token does
	"login":     func(h *heavyRig) []request { return nil },
	"sso-begin": func(h *heavyRig) []request { return nil }, // waits for the provider, outside of the farm
	// waits for the provider, then makes one token, as create-token does
	"sso-login":       func(h *heavyRig) []request { return nil },
	"list-own-tokens": one("all", ""),
	"page":            one("document", ""),
	"asset": func(h *heavyRig) []request {
		return []request{{name: "largest", path: "/assets/" + pageHash() + "/parse.js"}}
	},
	"make-code": one("code", ""),
	// takes signed codes alone; it makes one token, as make-code does
	"begin-session": func(h *heavyRig) []request { return nil },
	"prove-server":  func(h *heavyRig) []request { return nil }, // two MACs for a page
	"watch":         func(h *heavyRig) []request { return []request{{name: "all", stream: true}} },
	"get-item":      func(h *heavyRig) []request { return []request{{name: "one", path: "/v1/jobs/1/items/1"}} },
	"item-states": func(h *heavyRig) []request {
		return []request{{name: "many items",
			path: fmt.Sprintf("/v1/jobs/%d/states",
				h.submit(api.SubmitRequest{Command: []string{"true"}, Range: "1-1000000", Status: "blocked"}))}}
	},
	"item-values": func(h *heavyRig) []request {
		return []request{{name: "many items",
			path: fmt.Sprintf("/v1/jobs/%d/values",
				h.submit(api.SubmitRequest{Command: []string{"true"}, Range: "1-1000000", Status: "blocked"}))}}
	},
	"revoke-own-token": func(h *heavyRig) []request {
		return []request{{name: "one", path: "/v1/login/tokens/" + h.someToken()}}
	},
	"remove-user": func(h *heavyRig) []request {
		h.manyUsers()
		return []request{{name: "one", path: "/v1/users/user1"}}
	},
	"revoke-token":  func(h *heavyRig) []request { return []request{{name: "one", path: "/v1/tokens/" + h.someToken()}} },
	"explain-share": func(h *heavyRig) []request { return []request{{name: "one", path: "/v1/shares/mallory"}} },
	"set-share":     bodyOf(fmt.Sprintf(`{"path":%q,"shares":2}`, strings.Repeat("x", 255))),
	"list-budgets":  one("all", ""), "list-publications": one("all", ""),
	"set-budget": bodyOf(fmt.Sprintf(`{"path":%q,"budget_seconds":1000,"per_seconds":86400}`,
		strings.Repeat("y", 255))),
	"report-publication": bodyOf(fmt.Sprintf(`{"source":%q}`, strings.Repeat("é", 255))),
	"decide-publication": bodyOf(fmt.Sprintf(`{"source":%q,"accept":true}`, strings.Repeat("é", 255))),
	"add-credits":        bodyOf("[" + manyCredits(1000) + "]"),
	"list-accounts":      one("all", ""),
	"past-accounts":      one("all", ""),
	"add-account": bodyOf(`{"path":"heavy","users":[` + manyNames(1000) + `],"groups":[` + manyNames(1000) +
		`],"default_for":[` + manyNames(1000) + `]}`),
	"add-accounts":   bodyOf("[" + manyAccounts(1000, 150) + "]"),
	"remove-account": bodyOf(`{"path":"heavy","users":[` + manyNames(999) + `]}`),
	"add-credit": bodyOf(fmt.Sprintf(`{"user":%q,"amount":1,"source":%q}`, strings.Repeat("x", 255),
		strings.Repeat("é", 255))),
	"list-profiles": one("all", ""), "set-profile": onProfile, "forget-profile": onProfile,
	"list-resources": one("all", ""),
	"report-resource": func(h *heavyRig) []request {
		return []request{{name: "one", path: "/v1/resources/license.heavy",
			body: encoded(api.ResourceReport{Total: ptr(int64(1_000_000_000))})}}
	},
	"get-stats": one("by all", "?from=2017-01-01&to=2026-12-31&limit=9999&by="+strings.Join(store.Groupings, ",")),
	"sync":      heavySyncs, "append-log": heavyChunks, "append-picture": heavyPicture, "ship-ends": heavyEnds,
	"enrol":     heavyEnrolment,
	"read-ends": func(h *heavyRig) []request { return []request{{name: "all", stream: true}} },
}

// heavyProfiles are as many as are remembered, with names that are as long as may be.
func heavyProfiles(now time.Time) (list []facts.ProfileFacts) {
	for n := range profiles.MaxRows {
		row := facts.ProfileFacts{ProfileKey: facts.ProfileKey{Owner: "mallory", Name: fmt.Sprintf("%0255d", n)}, At: now}
		for job := range profiles.MaxLessons {
			row.Lessons = append(row.Lessons, facts.Lesson{Job: facts.JobID(job + 1), EndedAt: now, Items: 1, Memory: 1 << 30,
				Seconds: 1})
		}
		list = append(list, row)
	}
	return list
}

func onProfile(*heavyRig) []request {
	return []request{{name: "one", path: fmt.Sprintf("/v1/profiles/%0255d", 7),
		body: `{"memory_bytes":1000000,"seconds":5}`}}
}

// one is a request without a body.
func one(name, query string) func(*heavyRig) []request {
	return func(*heavyRig) []request { return []request{{name: name, query: query}} }
}

func bodyOf(text string) func(*heavyRig) []request {
	return func(*heavyRig) []request { return []request{{name: "body", body: text}} }
}

func onHost(path string) func(*heavyRig) []request {
	return func(h *heavyRig) []request { return []request{{name: "a full host", path: "/v1/hosts/rn000" + path}} }
}

func (h *heavyRig) jobPath(job int64, rest string) string {
	return fmt.Sprintf("/v1/jobs/%d%s", job, rest)
}

func (h *heavyRig) someToken() string {
	parts, _ := credentials.Parse(h.token("mallory", api.User))
	return parts.ID
}

// heavyUser is the body of a user with long lists of long names.
func heavyUser(name string) string {
	names := func(length int) (list []string) {
		for n := range 20 {
			list = append(list, fmt.Sprintf("%0*d", length, n))
		}
		return list
	}
	body := map[string]any{"role": "user", "groups": names(64), "leads": names(64), "submit_as": names(255)}
	if name != "" {
		body["name"] = name
	}
	return encoded(body)
}

// manyUsers adds thousands of users, once.
func (h *heavyRig) manyUsers() {
	for n := range 4000 {
		p := store.Person{Name: fmt.Sprint("user", n), Role: "user", Groups: []string{"fx", "comp"},
			CreatedAt: time.Unix(1, 0), Since: time.Unix(1, 0)}
		p = rules.NormalPerson(p)
		p.Seal = credentials.SealPerson(testKey, p)
		if done, err := h.store.AddPerson(h.t.Context(), p); err != nil || !done {
			return // they are there
		}
	}
}

func encoded(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// choosy is a job that asks as much of each host as it may.
func choosy() api.SubmitRequest {
	r := plain()
	r.Hosts = append(facts.SplitList(list(facts.MaxNamed-1, "rn", ",")), "rn000")
	r.OmitHosts = facts.SplitList(list(facts.MaxNamed, "x", ","))
	r.Requirements = strings.TrimSuffix(strings.Repeat("host.os!=a or ", (16<<10)/14-3), "or ") + "or host.os=linux"
	r.Reservations = "host.processors=1," + list(31, "host.r", "=1,") + "=1"
	r.Restrictions = "/||" + list(facts.MaxPatterns-1, "/x", "||")
	r.HostOrder = strings.Repeat("+host.memory.avail,", facts.MaxOrdered-1) + "-host.name"
	return r
}

func plain() api.SubmitRequest { return api.SubmitRequest{Command: []string{"true"}, Range: "1-9"} }

// manyNames are so many names at their limit, as members of a list in JSON.
func manyNames(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"%s%04d"`, strings.Repeat("é", 251), i)
	}
	return strings.Join(list, ",")
}

// manyAccounts are accounts with members of short names, of which the most fit into a body.
func manyAccounts(n, members int) string {
	var names, all []string
	for k := range members {
		names = append(names, fmt.Sprintf(`"%03d"`, (k*37)%members))
	}
	for k := range n {
		all = append(all, fmt.Sprintf(`{"path":"many%d","users":[%s]}`, k, strings.Join(names, ",")))
	}
	return strings.Join(all, ",")
}

// manyCredits are so many entries of credit.
func manyCredits(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`{"user":%q,"amount":1,"source":"%s%04d"}`, strings.Repeat("x", 255),
			strings.Repeat("é", 251), i)
	}
	return strings.Join(list, ",")
}

// full returns a submission with each text, list and number at its limit, except the agenda.
func full() api.SubmitRequest {
	r := choosy()
	r.Name, r.Cluster, r.Account, r.Cwd = strings.Repeat("é", 255), "/"+strings.Repeat("c", 254),
		strings.Repeat("a/", 15)+"a", strings.Repeat("/"+strings.Repeat("d", 254), facts.MaxPath/256)
	r.Command = make([]string, api.MaxArguments)
	for n := range r.Command {
		r.Command[n] = strings.Repeat("x", api.MaxCommand/api.MaxArguments-1)
	}
	r.Env = map[string]string{}
	for n := range api.MaxVariables {
		r.Env[fmt.Sprintf("V%05d", n)] = strings.Repeat("y", api.MaxEnv/api.MaxVariables/2)
	}
	r.CPUs, r.MaxCPUs, r.RetryWork, r.Flags = ptr(settings.MaxCPUs), ptr(-1), ptr(facts.MaxRetryWork),
		slices.Repeat(facts.Flags[:1], 64)
	r.Tags = map[string]string{}
	for _, name := range facts.TagNames {
		r.Tags[name] = strings.Repeat("漢", facts.MaxTag)
	}
	return r
}

func heavySubmissions(h *heavyRig) []request {
	agendas := map[string]func(*api.SubmitRequest){
		"a million in binary order": func(r *api.SubmitRequest) { r.Range, r.Order = "1-1000000", "binary" },
		"a million in reverse":      func(r *api.SubmitRequest) { r.Range, r.Order, r.Chunk = "1-1000000", "reverse", 2 },
		"scattered numbers":         func(r *api.SubmitRequest) { r.Range = scattered() },
		"many steps":                func(r *api.SubmitRequest) { r.Range = list(2000, "1-1000000x20", ",") },
		"labels":                    func(r *api.SubmitRequest) { r.Range = list(140_000, "a", ",") },
		"twice the same":            func(r *api.SubmitRequest) { r.Range = strings.Repeat("1,", 500_000) + "1" },
		"runs":                      func(r *api.SubmitRequest) { r.Range, r.CPUs = "", ptr(settings.MaxCPUs) },
		"links":                     func(r *api.SubmitRequest) { *r = h.linked() },
		"choosy":                    func(r *api.SubmitRequest) { *r = choosy() },
		"all at once":               func(r *api.SubmitRequest) { *r = full() },
		"GPUs":                      func(r *api.SubmitRequest) { r.Reservations = fmt.Sprintf("host.gpus=%d", 1<<30) },
	}
	rows := []request{}
	for _, name := range slices.Sorted(maps.Keys(agendas)) {
		r := plain()
		r.CPUs = ptr(heavyHosts * heavySlots)
		agendas[name](&r)
		rows = append(rows, request{name: name, body: encoded(r)})
	}
	return rows
}

// heavyTemplates are jobs of Open Job Description with as many steps as may be, and with as much to read.
func heavyTemplates(*heavyRig) []request {
	step := `{"name":"s%d","dependencies":[{"dependsOn":"s%d"}],"script":{"actions":{"onRun":{"command":"true"}}}}`
	steps := []string{`{"name":"s0","script":{"actions":{"onRun":{"command":"true"}}}}`}
	for n := 1; n < 100; n++ {
		steps = append(steps, fmt.Sprintf(step, n, n-1))
	}
	template := func(steps string) string {
		return encoded(api.OpenJDRequest{Template: api.OpenJDDocument{
			Text: `{"specificationVersion":"jobtemplate-2023-09","name":"a","steps":[` + steps + `]}`}})
	}
	wide := `{"name":"s","parameterSpace":{"taskParameterDefinitions":[{"name":"F","type":"INT","range":"1-1000000"}]},"script":{"actions":{"onRun":{"command":"true","args":["` +
		strings.Repeat("{{Task.Param.F}}", 900) + `"]}}}}`
	large := api.OpenJDRequest{Template: api.OpenJDDocument{
		Text: `{"specificationVersion":"jobtemplate-2023-09","name":"a","steps":[` + strings.Join(steps, ",") + `]}`}}
	for n := range 20 {
		large.Environments = append(large.Environments, api.OpenJDDocument{Text: fmt.Sprintf(
			"specificationVersion: environment-2023-09\nenvironment: {name: E%d, variables: {A: b}}\n#%s\n", n,
			strings.Repeat("x", 190_000))})
	}
	return []request{{name: "a hundred steps in a row", body: template(strings.Join(steps, ","))},
		{name: "a hundred steps with large environments", body: encoded(large)},
		{name: "a million", body: template(wide)}}
}

// scattered are as many numbers as a range's text can hold that are no progression.
func scattered() string {
	var b strings.Builder
	for n := 1; b.Len() < facts.MaxRange-16; n++ {
		if n > 1 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(n*n%999_983 + n%7))
	}
	return b.String()
}

// linked is a job that waits for as many others as it may.
func (h *heavyRig) linked() api.SubmitRequest {
	var links []string
	for n := range facts.MaxLinks {
		links = append(links, fmt.Sprintf("link-%s-job-%d", []string{"complete", "failed", "done"}[n%3], h.parents()[n/3]))
	}
	r := plain()
	r.Dependency = strings.Join(links, ",")
	return r
}

// parents are unfinished jobs.
func (h *heavyRig) parents() []int64 {
	if h.family != nil {
		return h.family
	}
	h.family = make([]int64, facts.MaxLinks/3+1)
	var all sync.WaitGroup
	for n := range h.family {
		all.Go(func() {
			r := plain()
			r.Status = "blocked"
			h.family[n] = h.submit(r)
		})
	}
	all.Wait()
	return h.family
}

func (h *heavyRig) heavyJob() int64 { return h.submit(full()) }

// marked is a job with as many marks as one may have.
func (h *heavyRig) marked() int64 {
	r := plain()
	r.Range = "1-1000000"
	job := h.submit(r)
	h.order(job, "kill", everySo(10_000, 0))
	return job
}

// everySo names single items that make a mark each.
func everySo(n, from int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(1 + from + i*97 + i%3)
	}
	return strings.Join(names, ",")
}

func heavyModifications(h *heavyRig) []request {
	r := full()
	change := api.ModifyRequest{
		Name: &r.Name, Priority: ptr(5000), CPUs: r.CPUs, MaxCPUs: r.MaxCPUs, Cluster: &r.Cluster,
		Requirements: &r.Requirements, Reservations: &r.Reservations,
		Restrictions: &r.Restrictions, HostOrder: &r.HostOrder, Hosts: &r.Hosts, OmitHosts: &r.OmitHosts, Groups: &[]string{},
		OmitGroups: &[]string{},
		RetryWork:  r.RetryWork, Tags: r.Tags,
	}
	running := ptr(1)
	return []request{
		{name: "a heavy job", path: h.jobPath(h.heavyJob(), ""), body: encoded(change)},
		{name: "the job that runs, narrower", path: h.jobPath(1, ""),
			body: encoded(api.ModifyRequest{CPUs: running, MaxCPUs: running})},
		{name: "and wider", path: h.jobPath(1, ""), body: encoded(api.ModifyRequest{CPUs: ptr(heavyHosts * heavySlots)})},
	}
}

func heavyOrders(h *heavyRig) []request {
	r := plain()
	r.Range, r.Order = "1-1000000", "binary"
	large, marked := h.submit(r), h.marked()
	r.Order = ""
	straight := h.submit(r)
	orders := func(job int64, action, items string) request {
		q := request{name: action + " of a million", path: h.jobPath(job, "/orders/"+action)}
		if items != "" {
			q.name, q.body = action+" of items", encoded(api.ActionRequest{Items: items})
		}
		return q
	}
	deep := make([]string, 31)
	for n := range deep {
		deep[n] = fmt.Sprintf("%d-%dx%d", n+1, 1_000_000-n, 1009+2*n)
	}
	rows := []request{
		orders(straight, "kill", "1-1000000x2"), orders(straight, "retry", "1-1000000x2"),
		orders(large, "kill", scatteredItems()),
		orders(large, "retry", scatteredItems()), orders(marked, "retry", everySo(9_000, 1)),
		orders(marked, "kill", strings.Join(deep, ",")),
		orders(large, "interrupt", ""), orders(large, "preempt", ""), orders(large, "block", ""),
		orders(large, "unblock", ""),
		orders(large, "kill", ""), orders(large, "retry", ""), orders(large, "kill", ""), orders(large, "redo", ""),
		orders(large, "requeue", ""),
	}
	for _, action := range []string{"block", "unblock", "preempt", "interrupt", "kill"} {
		q := orders(h.wide(), action, "")
		q.name = action + " of what runs"
		rows = append(rows, q)
	}
	return rows
}

// wide is the job that fills the farm.
func (h *heavyRig) wide() int64 { return 1 }

// scatteredItems names as many items as a body holds.
func scatteredItems() string { return list(9_000, "1", ",") }

func heavySyncs(h *heavyRig) []request {
	a := h.agent("large", translate.MaxSyncList)
	a.sync.Slots = api.MaxHostSlots
	a.beat(0)
	h.submit(api.SubmitRequest{Command: []string{"true"}, Range: "1-1000000", CPUs: ptr(api.MaxHostSlots),
		Hosts: []string{"large"}, Priority: ptr(1)})
	a.until("a large host is full", func() bool { return len(a.running) == api.MaxHostSlots })
	a.finish(0)
	a.sync.Instances, a.sync.Finished = nil, a.finished
	for n := len(a.finished); n < translate.MaxSyncList; n++ {
		id := api.AttemptID{Job: 1, Item: n, Number: 9}
		a.sync.Finished = append(a.sync.Finished,
			api.Finished{Attempt: id, Outcome: "exit", ExitCode: ptr(0), Reason: strings.Repeat("r", 900)})
	}
	for n := range translate.MaxSyncList {
		id := api.AttemptID{Job: 1, Item: n, Number: 8}
		a.sync.Instances = append(a.sync.Instances, api.SyncInstance{Job: 1, Instance: n, Attempt: id, State: "running"})
		a.sync.Jobs = append(a.sync.Jobs, api.JobVersion{Job: int64(n), Version: 1})
	}
	a.sync.Properties, a.sync.Resources = map[string]string{}, map[string]int{"host.gpus": translate.MaxDevices}
	for n := range translate.MaxOffers {
		a.sync.Groups = append(a.sync.Groups, "group"+strconv.Itoa(n))
		a.sync.Properties["p"+strconv.Itoa(n)] = strings.Repeat("v", 30)
	}
	a.sync.Sequence++
	full := encoded(a.sync)
	return []request{{name: "all lists full", body: full}}
}

func heavyChunks(h *heavyRig) []request {
	attempt := h.anAttempt()
	data := make([]byte, maxChunk)
	encodedData := base64.StdEncoding.EncodeToString(data)
	return []request{{name: "4 MB", body: fmt.Sprintf(`{"attempt":{"job":%d,"item":%d,"number":%d},"offset":0,"data":%q}`,
		attempt.Job, attempt.Item, attempt.Number, encodedData)}}
}

func heavyPicture(h *heavyRig) []request {
	attempt := h.anAttempt()
	data := base64.StdEncoding.EncodeToString(jpegOf(strings.Repeat("x", api.MaxPicture-3)))
	return []request{{name: "20 KB", body: fmt.Sprintf(`{"attempt":{"job":%d,"item":%d,"number":%d},"data":%q}`,
		attempt.Job, attempt.Item, attempt.Number, data)}}
}

func heavyPictureRead(h *heavyRig) []request {
	attempt := h.anAttempt()
	ship := api.Picture{Attempt: attempt, Data: jpegOf(strings.Repeat("x", api.MaxPicture-3))}
	must[struct{}](h.t, h.agents[0].client, api.AppendPicture, nil, ship)
	items := must[[]api.Item](h.t, h.user, api.ListItems,
		params("job", attempt.Job, "after", attempt.Item-1, "limit", 1), nil)
	return []request{{name: "20 KB", path: fmt.Sprintf("/v1/jobs/%d/items/%s/picture", attempt.Job, items[0].Name)}}
}

func (h *heavyRig) anAttempt() api.AttemptID {
	var one api.AttemptID
	eventually(h.t, "something runs", func() bool {
		for _, a := range h.agents {
			for id := range a.running {
				one = id
				return true
			}
		}
		h.beaten = time.Time{}
		h.beat()
		return false
	})
	return one
}

func heavyEnds(h *heavyRig) []request {
	page := api.EndsPage{Host: "rn000", StateID: "state", Audit: "x", Since: time.Now()}
	for n := range endsPageMost {
		page.Records = append(page.Records, api.EndRecord{Attempt: api.AttemptID{Job: 1, Item: n, Number: 1}})
		page.Clocks = append(page.Clocks, api.ClockCheck{})
	}
	return []request{{name: "a full page", body: encoded(page)}}
}

func heavyEnrolment(h *heavyRig) []request {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	name := strings.Repeat("é", facts.MaxName)
	e := api.Enrolment{Protocol: api.Protocol, Host: name, MachineID: name, StateID: name, PublicKey: public,
		Time: time.Now().Unix()}
	e.Signature = ed25519.Sign(private, e.Signed())
	return []request{{name: "long names", body: encoded(e)}}
}
