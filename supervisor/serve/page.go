package serve

import (
	"context"
	"net/http"
	"strings"
	"time"

	"qb/api"
	"qb/supervisor/access/limits"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/page/eventstream"
	"qb/supervisor/page/live"
	"qb/supervisor/page/web"
)

type assetIn struct {
	Hash string `path:"hash" maxLength:"64" doc:"Hash of all files of the release."`
	File string `path:"file" maxLength:"64" doc:"The file's name."`
}

// pageService serves the web page, the streams that it follows, and the documents of all endpoints.
type pageService struct {
	*backend
	board    *live.Board
	stream   *eventstream.Stream
	streams  *limits.StreamLimit
	pageHash string // of the files of the page
}

func (s *pageService) register(rt *routes) error {
	page, err := web.NewPage(api.Asset.Path)
	if err != nil {
		return err
	}
	s.pageHash = page.Hash
	mountStream(rt, api.FarmPage, handled(http.HandlerFunc(page.Shell)), "text/html")
	mountStream(rt, api.Asset, func(_ context.Context, in *assetIn) (answer, error) {
		return page.File(in.Hash, in.File)
	}, "text/javascript")
	mountStream(rt, api.Watch, s.watch, "text/event-stream")
	mountStream(rt, api.Events, s.events, "text/event-stream")
	mountStream(rt, api.Document, handled(web.Once("application/yaml", rt.document)), "application/yaml")
	mountStream(rt, api.DocumentJSON, handled(web.Once("application/json", rt.api.OpenAPI().MarshalJSON)),
		"application/json")
	docs, err := web.Docs(s.version, api.Endpoints)
	if err != nil {
		return err
	}
	mountStream(rt, api.Docs, handled(docs), "text/html")
	return nil
}

// totals adds up what the view has.
func (s *pageService) totals(v *message.View) api.Totals {
	t := api.Totals{Hosts: map[string]int{}, Jobs: map[string]int{}, Trouble: s.trouble(), Brake: v.Brake}
	for _, h := range v.Hosts {
		t.Hosts[h.State]++
		if h.State == "up" || h.State == "locked" {
			t.Slots.Total += h.Slots
			t.Slots.Used += h.Used
		}
	}
	for _, j := range v.Jobs {
		t.Jobs[j.Status]++
		t.Instances.Primary += j.Primary
		t.Instances.Secondary += j.Secondary
		t.Instances.Draining += j.Draining
		if !j.State.Final() {
			t.Items.Total += j.Items.Total
			t.Items.Pending += j.Items.Pending
			t.Items.Running += j.Items.Running
			t.Items.Complete += j.Items.Complete
			t.Items.Failed += j.Items.Failed
			t.Items.Killed += j.Items.Killed
			t.Items.Blocked += j.Items.Blocked
		}
	}
	return t
}

type watchIn struct {
	Job            int64  `query:"job" minimum:"0" doc:"Also the states of this job's items, as they change from now on; 0: of none."`
	AcceptEncoding string `header:"Accept-Encoding" doc:"gzip: the stream is compressed."`
}

// hello is the first event of a watch.
type hello struct {
	Version string              `json:"version"`
	Page    string              `json:"page"` // hash of the files that belong to this version
	Epoch   int64               `json:"epoch"`
	Now     time.Time           `json:"now"`
	Columns map[string][]string `json:"columns"`
}

// watch streams states as server-sent events: hello, then farm, jobs, hosts and items, first whole, then what changes.
func (s *pageService) watch(ctx context.Context, in *watchIn) (answer, error) {
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	if s.lastView() == nil {
		return nil, s.standingBy()
	}
	leave, err := s.enter(ctx, s.streams, s.live.now.Load().TokenStreams, "supervisor_token_streams")
	if err != nil {
		return nil, err
	}
	first := live.NewMessage("hello",
		hello{s.version, s.pageHash, l.Epoch, s.now().UTC(),
			map[string][]string{"jobs": live.JobColumns, "hosts": live.HostColumns}})
	return func(w http.ResponseWriter, r *http.Request) {
		defer leave()
		h := w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("X-Accel-Buffering", "no")
		packed := strings.Contains(in.AcceptEncoding, "gzip")
		if packed {
			h.Set("Content-Encoding", "gzip")
		}
		w.WriteHeader(http.StatusOK)
		reader := s.board.Enter(facts.JobID(in.Job))
		defer reader.Leave()
		s.sendStates(w, r, reader, first, packed)
		panic(http.ErrAbortHandler) // the stream has no end
	}, nil
}

// sendStates sends what the reader has not seen until the reader, the credential or the term goes.
func (s *pageService) sendStates(w http.ResponseWriter, r *http.Request, reader *live.Reader, first *live.Message,
	packed bool) {
	control := http.NewResponseController(w)
	send := func(list ...*live.Message) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // a socket always can
		for _, m := range list {
			text := m.Plain
			if packed {
				text = m.Packed()
			}
			if _, err := w.Write(text); err != nil {
				return false
			}
		}
		return control.Flush() == nil
	}
	if packed {
		if _, err := w.Write(live.Head); err != nil {
			return
		}
	}
	if !send(first) {
		return
	}
	heartbeat := time.NewTicker(watchStill)
	defer heartbeat.Stop()
	still, began := live.NewMessage("still", 0), s.loop.Load()
	for holds := s.gate.Watch(r.Context(), streamHeartbeat, nil); holds() && s.loop.Load() == began; {
		news, more := reader.Next()
		if len(news) > 0 {
			if !send(news...) {
				return
			}
			heartbeat.Reset(watchStill)
		}
		select {
		case <-more:
		case <-heartbeat.C:
			if !send(still) {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}
