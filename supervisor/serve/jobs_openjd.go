package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/gate"
	"qb/supervisor/farm/message"
	"qb/supervisor/farm/outbox"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/wire/openjdjobs"
	"qb/supervisor/wire/translate"
)

// maxTemplates bounds the body of a request with its templates, each of which has at most 1 MiB.
const maxTemplates = 4 << 20

type openjdIn struct {
	Key  string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Made by the client, once per submission: repeating the call with it gives the same jobs."`
	Body api.OpenJDRequest
}

// openjdService answers submissions of Open Job Description.
type openjdService struct{ *jobService }

func (s openjdService) register(rt *routes) {
	long := body(maxTemplates)
	mount(rt, api.SubmitOpenJD, led(s.backend, s.submit), long)
	mount(rt, api.ListJobTypes, s.types)
	mount(rt, api.GetJobType, s.jobType)
	mount(rt, api.CheckOpenJD, few(s.turns.heavy, led(s.backend, s.check)), long)
}

// submit makes a job for each step. All are asked about before the first is made. If one is refused after all, the ones
// before it are killed; what breaks off otherwise goes on when the call is repeated under its key.
func (s openjdService) submit(ctx context.Context, in *openjdIn) (*jsonOf[api.OpenJDReply], error) {
	owner := ownerOf(ctx, &in.Body)
	if err := s.gate.MayOn(ctx, api.SubmitOpenJD, owner); err != nil {
		return nil, err
	}
	audit.Of(ctx).SubmitsFor(owner)
	j, err := s.read(ctx, &in.Body, owner)
	if err == nil {
		err = j.Err()
	}
	if err != nil {
		return nil, err
	}
	audit.Of(ctx).Changes("", nil, map[string]any{"user": owner, "name": problem.Clip(j.Name()), "steps": len(j.Steps())})
	list, err := s.stepsOf(ctx, j, owner, in.Key)
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if err := s.limits.Submit(owner, int(e.Facts.Bytes())); err != nil {
			return nil, err
		}
	}
	reply := api.OpenJDReply{Remarks: j.Remarks}
	shape := func(body any) *jsonOf[api.OpenJDReply] {
		last := body.(message.JobReply)
		all := reply
		all.Jobs = append(slices.Clone(reply.Jobs), api.OpenJDJob{Step: j.Steps()[len(list)-1], Job: int64(last.Job.ID)})
		all.Remarks = translate.OrEmpty(translate.Adding(slices.Clone(reply.Remarks), last.Remarks))
		return &jsonOf[api.OpenJDReply]{all}
	}
	return once(ctx, s.backend, api.SubmitOpenJD, in.Key, in, shape, func(c term.Call) (any, error) {
		if _, err := s.judgedAll(ctx, list); err != nil {
			return nil, err
		}
		return s.submitSteps(ctx, c, list, func(r message.JobReply) {
			reply.Jobs = append(reply.Jobs, api.OpenJDJob{Step: j.Steps()[len(reply.Jobs)], Job: int64(r.Job.ID)})
			reply.Remarks = translate.Adding(reply.Remarks, r.Remarks)
		})
	})
}

// check says what submit would say to the same body, and shows the job to a form.
func (s openjdService) check(ctx context.Context,
	in *struct{ Body api.OpenJDRequest }) (*jsonOf[api.OpenJDCheck], error) {
	owner := ownerOf(ctx, &in.Body)
	err := cmp.Or(s.gate.MayOn(ctx, api.CheckOpenJD, owner), s.limits.Check(gate.PrincipalOf(ctx).User))
	if err != nil {
		return nil, err
	}
	j, err := s.read(ctx, &in.Body, owner)
	if err != nil {
		return nil, err
	}
	out := &jsonOf[api.OpenJDCheck]{j.Check()}
	if j.Err() != nil {
		return out, nil
	}
	list, err := s.stepsOf(ctx, j, owner, "")
	if err == nil {
		err = s.fits(ctx, owner, list)
	}
	var remarks []string
	if err == nil {
		remarks, err = s.judgedAll(ctx, list)
	}
	said := &api.SubmissionCheck{Refusals: []api.SubmissionRefusal{}}
	if err := refuse(said, err); err != nil {
		return nil, err
	}
	out.Body.Refusals = said.Refusals
	out.Body.Remarks = translate.OrEmpty(translate.Adding(j.Remarks, remarks))
	return out, nil
}

// ownerOf is the user whose jobs a request makes.
func ownerOf(ctx context.Context, r *api.OpenJDRequest) string {
	if r.Job != nil && r.Job.User != "" {
		return r.Job.User
	}
	return gate.PrincipalOf(ctx).User
}

// read reads a request with what the site adds to it.
func (s openjdService) read(ctx context.Context, r *api.OpenJDRequest, owner string) (*openjdjobs.Job, error) {
	c := s.live.now.Load()
	r, err := typed(r, c.Types)
	if err != nil {
		return nil, err
	}
	cluster := c.DefaultCluster
	if r.Job != nil && r.Job.Cluster != "" {
		cluster = r.Job.Cluster
	}
	l, err := s.leading()
	if err != nil {
		return nil, err
	}
	var unknown error
	site := openjdjobs.Site{Amounts: c.OpenJDAmounts, Attributes: c.OpenJDAttributes,
		Seconds: func() map[string]float64 {
			seconds := map[string]float64{}
			unknown = l.Look(ctx, func(m term.Machine, now time.Time) {
				for _, p := range m.Profiles(now, facts.ProfileKey{Owner: owner}) {
					seconds[p.Name] = p.Seconds
				}
			})
			return seconds
		}}
	for _, name := range c.OpenJDFiles(cluster) {
		f, err := openjdjobs.ReadFile(name)
		if err != nil {
			return nil, api.Errorf(api.KindUnavailable, "an environment of this farm cannot be read (%s): %v; ask an admin",
				openjdjobs.EnvironmentsSetting, err)
		}
		site.Environments = append(site.Environments, f)
	}
	return openjdjobs.Read(r, site), unknown
}

// typed is a request with the template and the attributes of its job type.
func typed(r *api.OpenJDRequest, site string) (*api.OpenJDRequest, error) {
	switch {
	case r.Type == "" && r.Template.Text == "":
		return nil, problem.Invalid("template", "the text is empty; give a template, or the type of the job")
	case r.Type == "":
		return r, nil
	case r.Template.Text != "":
		return nil, problem.Invalid("type", "%s has a template of its own; give the type or a template", problem.Clip(r.Type))
	}
	t, err := openjdjobs.FindType(site, r.Type)
	if err != nil {
		return nil, err
	}
	return openjdjobs.Fill(r, t), nil
}

// types lists the job types. A type of the site that cannot be read is logged, and left out.
func (s openjdService) types(context.Context, *struct{}) (*jsonOf[[]api.JobType], error) {
	list, errs := openjdjobs.Types(s.live.now.Load().Types)
	for _, err := range errs {
		s.log.Warn("a job type is left out", "error", err)
	}
	for n := range list {
		list[n].Template = nil
	}
	return &jsonOf[[]api.JobType]{list}, nil
}

type jobTypeIn struct {
	Type   string `path:"type" maxLength:"64" doc:"The name of the type."`
	Sample bool   `query:"sample" doc:"With its sample, which has up to 4 MiB."`
}

func (s openjdService) jobType(_ context.Context, in *jobTypeIn) (*jsonOf[api.JobType], error) {
	site := s.live.now.Load().Types
	t, err := openjdjobs.FindType(site, in.Type)
	if err == nil && in.Sample {
		t.Sample, err = openjdjobs.SampleOf(site, t)
	}
	return &jsonOf[api.JobType]{t}, err
}

// stepsOf are the submissions of the steps, in their order. Each has a key below that of the request, so that a
// repetition finds it.
func (s openjdService) stepsOf(ctx context.Context, j *openjdjobs.Job, owner,
	key string) (list []message.JobSubmitted, err error) {
	requests, err := j.Submissions()
	if err != nil {
		return nil, err
	}
	of, err := s.submission(ctx, facts.JobFacts{User: owner}, false)
	if err != nil {
		return nil, err
	}
	bytes := 0
	for n, r := range requests {
		row, err := s.readSubmission(ctx, r, owner, key)
		if err != nil {
			return nil, ofStep(r.Label, err)
		}
		row.Submission += fmt.Sprintf(" step %d", n+1)
		bytes += int(row.Bytes())
		of.Facts = row
		of.Blocked = r.Status == "blocked"
		list = append(list, of)
	}
	if bytes > maxBody {
		return nil, problem.Invalid("template", "the %d jobs of its steps have %d bytes together, and %d are allowed: put large embedded files into files that hosts see",
			len(list), bytes, maxBody)
	}
	return list, nil
}

// ofStep names the step in an error.
func ofStep(step string, err error) error {
	var e *api.Error
	if !errors.As(err, &e) || e.Kind == api.KindUnavailable {
		return err
	}
	named := *e
	named.Text = fmt.Sprintf("step %s: %s", problem.Clip(step), e.Text)
	return &named
}

// judgedAll refuses what the farm would refuse of any of the jobs, and returns its remarks on all.
func (s openjdService) judgedAll(ctx context.Context, list []message.JobSubmitted) (remarks []string, err error) {
	for _, e := range list {
		if err := s.complete(ctx, &e); err != nil {
			return nil, ofStep(e.Facts.Label, err)
		}
		said, err := s.judged(ctx, e)
		if err != nil {
			return nil, ofStep(e.Facts.Label, err)
		}
		remarks = translate.Adding(remarks, said)
	}
	return remarks, nil
}

// fits refuses what the owner's allowances have no room for.
func (s openjdService) fits(ctx context.Context, owner string, list []message.JobSubmitted) error {
	stored := int64(0)
	for _, e := range list {
		if err := s.limits.MaySubmit(owner, int(e.Facts.Bytes())); err != nil {
			return ofStep(e.Facts.Label, err)
		}
		stored += e.Facts.Stored()
	}
	return s.limits.MayStore(ctx, owner, stored)
}

// submitSteps makes the jobs one after the other, in one process group, and answers about the last. Said gets the
// answers about the others.
func (s openjdService) submitSteps(ctx context.Context, c term.Call, list []message.JobSubmitted,
	said func(message.JobReply)) (any, error) {
	var made []facts.JobID
	for n, e := range list {
		call := c
		if n < len(list)-1 {
			call = c.Beside()
		}
		if n > 0 {
			e.Facts.PGrp = made[0]
		}
		body, err := s.submitFacts(ctx, call, e)
		if err != nil {
			return nil, s.undone(ctx, c.Beside(), made, ofStep(e.Facts.Label, err))
		}
		if n == len(list)-1 {
			return body, nil
		}
		reply := body.(message.JobReply)
		if n == 0 && reply.Job.State == facts.KilledJob { // it was taken back, see undone
			return nil, api.Errorf(api.KindConflict,
				"job %d of this submission was made under the same key before, and is killed; repeat it under another key",
				reply.Job.ID)
		}
		made = append(made, reply.Job.ID)
		said(reply)
	}
	return nil, nil
}

// undone kills the jobs of a submission of which a later one was refused. After any other error they stay: a repetition
// under the same key finds them.
func (s openjdService) undone(ctx context.Context, c term.Call, made []facts.JobID, err error) error {
	var e *api.Error
	if len(made) == 0 || !errors.As(err, &e) || e.Kind == api.KindUnavailable {
		return err
	}
	var left []string
	for _, id := range made {
		_, failed := c.Ask(ctx, func(t outbox.Ticket) message.Event {
			return message.JobAction{Ticket: t, Job: id, Action: facts.Kill, By: gate.PrincipalOf(ctx).User}
		})
		if failed != nil {
			left = append(left, fmt.Sprintf("job %d remains: %v", id, failed))
		}
	}
	end := fmt.Sprintf("; the jobs of this submission that were made, %s, are killed", strings.Trim(fmt.Sprint(made), "[]"))
	if left != nil {
		end = "; of this submission " + strings.Join(left, ", ")
	}
	refused := *e
	refused.Text += end
	return &refused
}
