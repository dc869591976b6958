package serve

import (
	"strings"
	"testing"

	"qb/api"
	"qb/internal/patterns"
	"qb/supervisor/wire/settings"
)

// TestFoundInOutput: errors found in an item's output are shown to users who may read the output, and the worker's
// report of them is limited in size.
func TestFoundInOutput(t *testing.T) {
	r := startRig(t, func(c *settings.Config, _ *Options) { c.LogAccess = "owner" })
	owner, other := r.client("ann", api.User), r.client("bob", api.User)
	must[api.SubmitReply](t, owner, api.Submit, nil, api.SubmitRequest{Command: []string{"render"}, Range: "1"})
	h := r.agent("h1", 1)
	h.until("the item to start", func() bool { return len(h.running) == 1 })
	end := api.Finished{Outcome: "exit", ExitCode: new(0), OutputPaths: []string{"/out/1.exr", "\x00"}}
	for n := range 100 {
		end.Highlights = append(end.Highlights, strings.Repeat("x", n)+"\x00\x1b"+strings.Repeat("ä", 5000))
	}
	for id, i := range h.running {
		end.Attempt, end.Instance = id, i.Instance
		delete(h.running, id)
	}
	h.finished = []api.Finished{end}
	h.until("the end to be taken", func() bool {
		return must[[]api.Attempt](t, owner, api.Attempts, params("job", 1), nil)[0].State == "done"
	})
	for _, list := range [][]api.Attempt{must[[]api.Attempt](t, owner, api.Attempts, params("job", 1), nil),
		must[api.ItemReply](t, owner, api.GetItem, params("job", 1, "item", "1"), nil).Attempts} {
		if a := list[0]; len(a.Highlights) != patterns.MostHighlights || len(a.Highlights[0]) > patterns.MaxHighlight ||
			strings.ContainsAny(a.Highlights[0], "\x00\x1b") || len(a.OutputPaths) != 1 {
			t.Errorf("the owner sees %d highlights, paths %q", len(a.Highlights), a.OutputPaths)
		}
	}
	for _, list := range [][]api.Attempt{must[[]api.Attempt](t, other, api.Attempts, params("job", 1), nil),
		must[api.ItemReply](t, other, api.GetItem, params("job", 1, "item", "1"), nil).Attempts} {
		if a := list[0]; a.State != "done" || a.Highlights != nil || a.OutputPaths != nil {
			t.Errorf("another sees %+v", a)
		}
	}
}
