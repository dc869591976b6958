package supervisor

import (
	"context"
	"net/http"
	"strings"
	"time"

	"qb/api"
	"qb/supervisor/facts"
	"qb/supervisor/itemvalues"
	"qb/supervisor/live"
	"qb/supervisor/message"
	"qb/supervisor/problem"
	"qb/supervisor/readcache"
	"qb/supervisor/translate"
	"qb/supervisor/web"
)

const attemptsShown = 1000 // of one item

type assetIn struct {
	Hash string `path:"hash" maxLength:"64" doc:"Hash of all files of the release."`
	File string `path:"file" maxLength:"64" doc:"The file's name."`
}

// mountPage registers the endpoints of the page, and the documents of all endpoints.
func mountPage(rt *routes) error {
	page, err := web.NewPage(api.Asset.Path)
	if err != nil {
		return err
	}
	s := rt.server
	s.pageHash = page.Hash
	mountStream(rt, api.FarmPage, handled(http.HandlerFunc(page.Shell)), "text/html")
	mountStream(rt, api.Asset, func(_ context.Context, in *assetIn) (answer, error) { return page.File(in.Hash, in.File) }, "text/javascript")
	mount(rt, api.MakeCode, led(s, s.makeCode), created)
	mount(rt, api.BeginSession, s.beginSession, created)
	mountStream(rt, api.ProveServer, s.proveServer, "application/json")
	mountStream(rt, api.Watch, s.watch, "text/event-stream")
	mount(rt, api.ItemStates, few(s.turns.heavy, s.itemStates))
	mount(rt, api.ItemValues, few(s.turns.heavy, s.itemValues))
	mount(rt, api.Timeline, few(s.turns.heavy, s.pastShare))
	mount(rt, api.FarmHistory, few(s.turns.heavy, s.farmHistory))
	mount(rt, api.FindInLog, few(s.turns.searching, s.findInLog))
	mount(rt, api.GetItem, s.getItem)
	mountStream(rt, api.Document, handled(web.Once("application/yaml", rt.document)), "application/yaml")
	mountStream(rt, api.DocumentJSON, handled(web.Once("application/json", rt.api.OpenAPI().MarshalJSON)), "application/json")
	docs, err := web.Docs(s.version, api.Endpoints)
	if err != nil {
		return err
	}
	mountStream(rt, api.Docs, handled(docs), "text/html")
	return nil
}

// totals adds up what the view has.
func (s *server) totals(v *message.View) api.Totals {
	t := api.Totals{Hosts: map[string]int{}, Jobs: map[string]int{}, Trouble: s.trouble(), Brake: v.Brake}
	for n := range v.Hosts {
		h := &v.Hosts[n]
		t.Hosts[h.State]++
		if h.State == "up" || h.State == "locked" {
			t.Slots.Total += h.Slots
			t.Slots.Used += h.Used
		}
	}
	for n := range v.Jobs {
		j := &v.Jobs[n]
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
func (s *server) watch(ctx context.Context, in *watchIn) (answer, error) {
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
	first := live.NewMessage("hello", hello{s.version, s.pageHash, l.Epoch, s.now().UTC(), map[string][]string{"jobs": live.JobColumns, "hosts": live.HostColumns}})
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
func (s *server) sendStates(w http.ResponseWriter, r *http.Request, reader *live.Reader, first *live.Message, packed bool) {
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

// itemStates tells the state of each item of a job.
func (s *server) itemStates(ctx context.Context, in *jobIn) (*jsonOf[api.ItemStatesReply], error) {
	return kept(ctx, s, readcache.Key{Job: facts.JobID(in.Job), Of: "states"}, s.readStates, func(r *api.ItemStatesReply) int { return len(r.States) })
}

// readStates reads them from the rows.
func (s *server) readStates(ctx context.Context, job facts.JobID) (*api.ItemStatesReply, error) {
	return readItems(ctx, s, job, func(ctx context.Context, j *jobItems) (*api.ItemStatesReply, error) {
		marks, err := j.rows.Marks(ctx)
		if err != nil {
			return nil, err
		}
		letters := make([]byte, 0, j.agenda.Len())
		for first := 0; first < j.agenda.Len(); first += itemsAtOnce {
			err := s.eachItem(ctx, j, marks, first, min(first+itemsAtOnce, j.agenda.Len())-1, func(item api.Item) {
				letters = append(letters, live.Letter(item.Status, facts.ParseKind(item.Kind)))
			})
			if err != nil {
				return nil, err
			}
		}
		return &api.ItemStatesReply{Job: int64(job), Version: j.facts.Version, States: string(letters)}, nil
	})
}

type itemValuesIn struct {
	Job int64  `path:"job" minimum:"1" doc:"The job's id."`
	Of  string `query:"of" enum:"seconds,memory,attempts,host" default:"seconds" doc:"What to tell of each item."`
}

// itemValues tells what the items of a job took.
func (s *server) itemValues(ctx context.Context, in *itemValuesIn) (*jsonOf[api.ItemValuesReply], error) {
	read := func(ctx context.Context, job facts.JobID) (*api.ItemValuesReply, error) {
		return s.readValues(ctx, job, in.Of)
	}
	return kept(ctx, s, readcache.Key{Job: facts.JobID(in.Job), Of: in.Of}, read, func(r *api.ItemValuesReply) int { return 8 * len(r.Values) })
}

// readValues reads that from the rows.
func (s *server) readValues(ctx context.Context, job facts.JobID, of string) (*api.ItemValuesReply, error) {
	return readItems(ctx, s, job, func(ctx context.Context, j *jobItems) (*api.ItemValuesReply, error) {
		column := itemvalues.New(of, j.agenda.Len())
		for first := 0; first < j.agenda.Len(); first += itemsAtOnce {
			latest, err := j.rows.Latest(ctx, facts.ItemNo(first), facts.ItemNo(min(first+itemsAtOnce, j.agenda.Len())-1))
			if err != nil {
				return nil, err
			}
			for n := range latest {
				column.Add(&latest[n])
			}
		}
		reply := column.Reply(int64(job), j.facts.Version, func(n facts.ItemNo) string { return j.agenda.Item(int(n)).Name })
		return &reply, nil
	})
}

// kept answers with what was read of a job since its rows changed last, or reads it. Only the leader knows of changes.
func kept[T any](ctx context.Context, s *server, key readcache.Key, read func(context.Context, facts.JobID) (*T, error), size func(*T) int) (*jsonOf[T], error) {
	began := s.loop.Load()
	if began == nil {
		reply, err := read(ctx, key.Job)
		if err != nil {
			return nil, err
		}
		return &jsonOf[T]{*reply}, nil
	}
	reply, err := s.itemReads.Get(ctx, key, func(ctx context.Context) (readcache.Answer, error) {
		reply, err := read(ctx, key.Job)
		if err != nil {
			return readcache.Answer{}, err
		}
		return readcache.Answer{Value: reply, Bytes: size(reply)}, nil
	})
	if err != nil {
		return nil, err
	}
	return &jsonOf[T]{*reply.(*T)}, nil
}

type itemIn struct {
	Job  int64  `path:"job" minimum:"1" doc:"The job's id."`
	Item string `path:"item" maxLength:"1024" doc:"The item's name."`
}

// getItem reads an item and its attempts from the rows.
func (s *server) getItem(ctx context.Context, in *itemIn) (*jsonOf[api.ItemReply], error) {
	item, err := readItems(ctx, s, facts.JobID(in.Job), func(ctx context.Context, j *jobItems) (*jsonOf[api.ItemReply], error) {
		number, ok := j.agenda.Find(in.Item)
		if !ok {
			return nil, nil
		}
		marks, err := j.rows.Marks(ctx)
		if err != nil {
			return nil, err
		}
		items, err := s.itemsBetween(ctx, j, marks, number, number)
		if err != nil {
			return nil, err
		}
		rows, found, err := s.attemptsAfter(ctx, j, facts.AttemptID{Job: j.facts.ID, Item: facts.ItemNo(number)}, attemptsShown)
		if err != nil {
			return nil, err
		}
		out := &jsonOf[api.ItemReply]{api.ItemReply{Item: items[0], Attempts: []api.Attempt{}}}
		for _, row := range rows {
			if int(row.Item) == number {
				out.Body.Attempts = append(out.Body.Attempts, translate.Attempt(row, in.Item, found[row.AttemptID]))
			}
		}
		return out, nil
	})
	if err == nil && item == nil {
		return nil, api.Errorf(api.KindNotFound, "job %d has no item %q", in.Job, problem.Clip(in.Item))
	}
	return item, err
}
