package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/credentials"
	"qb/supervisor/access/gate"
	"qb/supervisor/access/limits"
	"qb/supervisor/access/osusers"
	"qb/supervisor/access/reads"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/central"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/metrics"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/store"
	"qb/supervisor/store/logstore"
	"qb/supervisor/wire/settings"
)

type nothing struct{}

// host is a host as it was last shown, nil if it is not known.
func (s *backend) host(name string) *message.HostView {
	for h := range s.picture().AllHosts() {
		if string(h.ID) == name {
			return h
		}
	}
	return nil
}

// enter takes a place among the streams of a kind for the caller.
func (s *backend) enter(ctx context.Context, p *limits.StreamLimit, most int, key string) (leave func(), err error) {
	who := gate.PrincipalOf(ctx)
	return p.Enter(who.User, who.Credential(), who.SeesAll(), most, key)
}

// itemName is looked up by the reader of the stream, who alone waits for a job that the farm no longer holds.
func (s *backend) itemName(id facts.JobID, n facts.ItemNo) string {
	a := s.agendas.Peek(id)
	if a == nil {
		j, err := s.facts(context.Background(), id)
		if err != nil {
			return ""
		}
		if a, err = s.agendas.Get(context.Background(), j); err != nil {
			return ""
		}
	}
	return nameOf(a, n)
}

// backend is what the services share. Changes go through the loop of the current term; reads come from the rows and the
// view.
type backend struct {
	leadership
	cfg     settings.Config // as the process began with it
	gate    *gate.Gate
	logs    *logstore.Store
	agendas *agendaCache
	central central.Workers // settings of workers
	reads   *reads.Outage
	audit   *audit.Writer
	limits  *limits.Users
	turns   readLimits
	metrics *metrics.Metrics
	doors   []Door // that this process has opened
}

func newBackend(cfg settings.Config, r store.Reader, log *slog.Logger, version string) (*backend, error) {
	failing := reads.NewOutage(log, "reading from the database")
	shared := newReadLimits()
	r = reads.Reader{Reader: r, Outage: failing, Turn: shared.readInTurn}
	logs, err := logstore.Open(cfg.LogFolder())
	if err != nil {
		return nil, err
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("asking for the host's name: %w", err)
	}
	b := &backend{
		leadership: leadership{reader: r, log: log, version: version, name: name},
		cfg:        cfg, logs: logs, reads: failing, turns: shared, agendas: newAgendaCache(inTurn(shared.agendas)),
	}
	b.live.now.Store(&cfg)
	unwritten := reads.NewOutage(log, "writing the audit trail")
	b.audit = audit.New(r, func(err error) { unwritten.Note("refusals and reads", err) })
	b.limits = limits.NewUsers(b.live.now.Load, r)
	return b, nil
}

// lag is that of the loop; 0 if this supervisor does not lead.
func (s *backend) lag() time.Duration {
	if l := s.loop.Load(); l != nil {
		return l.Lag()
	}
	return 0
}

// look asks the live farm, which only a leader has.
func look[T any](ctx context.Context, s *backend, ask func(m term.Machine, now time.Time) T) (none T, err error) {
	l, err := s.leading()
	if err != nil {
		return none, err
	}
	leave, err := inTurn(s.turns.looks)(ctx)
	if err != nil {
		return none, err
	}
	defer leave()
	var answer T // not read unless the farm has answered
	if err := l.Look(ctx, func(m term.Machine, now time.Time) { answer = ask(m, now) }); err != nil {
		return none, err
	}
	return answer, nil
}

// problemFor logs what a client must not see.
func (s *backend) problemFor(ctx context.Context, e api.Endpoint, err error) *problem.Problem {
	p := problem.Of(err)
	s.refused(ctx, e, p)
	switch {
	case p.Status == http.StatusInternalServerError:
		s.log.Error("request failed", "endpoint", e.ID, "error", err)
	case errors.Is(err, problem.ErrDatabase):
		s.reads.Note(e.ID, err)
	}
	return p
}

// job finds a job in the view or, if the farm no longer holds it, in the rows.
func (s *backend) job(ctx context.Context, id facts.JobID) (facts.JobView, error) {
	if v, ok := s.picture().Job(id); ok {
		return v, nil
	}
	rows, err := s.reader.Jobs(ctx, s.jobQuery(store.JobQuery{IDs: []facts.JobID{id}, Limit: 1}))
	if err != nil {
		return facts.JobView{}, problem.Reading("a job", err)
	}
	if len(rows) == 0 {
		return facts.JobView{}, noJob(id)
	}
	return rows[0], nil
}

// facts finds the row of a job, in the view or the database. It costs the same however many items the job has.
func (s *backend) facts(ctx context.Context, id facts.JobID) (facts.JobFacts, error) {
	if v, ok := s.picture().Job(id); ok {
		return v.JobFacts, nil
	}
	return s.stored(ctx, id)
}

// stored is a job as its row says, of which the view may be a moment behind.
func (s *backend) stored(ctx context.Context, id facts.JobID) (facts.JobFacts, error) {
	j, err := s.reader.Facts(ctx, id)
	if err != nil {
		return facts.JobFacts{}, problem.Reading("a job", err)
	}
	if j == nil {
		return facts.JobFacts{}, noJob(id)
	}
	return *j, nil
}

func noJob(id facts.JobID) *api.Error { return api.Errorf(api.KindNotFound, "there is no job %d", id) }

// jobQuery lets rows tell what the farm would say of a job's memory if it still held it.
func (s *backend) jobQuery(q store.JobQuery) store.JobQuery {
	policy, largest := s.live.now.Load().MemoryPolicy(), int64(0)
	hosts := s.picture().Hosts
	for n := range hosts {
		largest = max(largest, hosts[n].Memory)
	}
	q.Quantile = policy.Quantile
	q.Memory = func(reservations string, past facts.PastMemory) facts.JobMemory {
		return policy.Past(reservations, past, largest)
	}
	return q
}

// named is the job that a member of a request names, if it is not 0.
func (s *backend) named(ctx context.Context, member string, id facts.JobID) (j facts.JobFacts, err error) {
	if id == 0 {
		return j, nil
	}
	j, err = s.facts(ctx, id)
	if api.Refusal(err).Kind == api.KindNotFound {
		return j, problem.Invalid(member, "there is no job %d; give the id of a job that is listed by qbjobs, or 0 for none",
			id)
	}
	return j, err
}

// refused notes a refusal of rights or of a limit, and counts the latter; other refusals are mistakes.
func (s *backend) refused(ctx context.Context, e api.Endpoint, p *problem.Problem) {
	if p.Limit == "" && p.Status != http.StatusUnauthorized && p.Status != http.StatusForbidden {
		return
	}
	row := factsOfRequest(ctx, e)
	row.Who = cmp.Or(row.Who, audit.Of(ctx).Who())
	if p.Limit != "" {
		s.metrics.Limited(p.Limit)
		if who := audit.Of(ctx).Limited(row.Who); who != "" {
			s.limits.Refused(who, p.Limit)
		}
	}
	row.Outcome, row.Object = "refused", problem.ClipTo(requestFactsOf(ctx).url.Path, audit.MaxObject)
	row.Code = cmp.Or(p.Limit, strings.TrimPrefix(p.Type, "urn:qb:error:"))
	s.audit.Add(row)
}

// readOthers notes that somebody read output which is not his.
func (s *backend) readOthers(ctx context.Context, e api.Endpoint, object string) {
	row := factsOfRequest(ctx, e)
	row.Outcome, row.Object = "read", object
	s.audit.Add(row)
}

// groupsOf are the groups of an owner of jobs: of his row, and of this machine.
func (s *backend) groupsOf(ctx context.Context, owner string, known osusers.User) (accounting.Groups, error) {
	g := accounting.Groups{Names: known.Groups, Unsure: known.Unsure}
	row, found, err := s.gate.Tokens.Person(ctx, owner)
	if err == nil && found && credentials.PersonHolds(s.gate.Key, row) {
		g.Names = slices.Concat(row.Groups, g.Names)
	}
	return g, err
}
