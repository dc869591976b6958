package doors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"qb/api"
	"qb/internal/units"
	"qb/supervisor/access/gate"
	"qb/supervisor/lead/problem"
	"qb/supervisor/serve"
	"qb/supervisor/wire/openjdjobs"
)

// maxSubmitted is the largest body that the add-on may send: the values of a form.
const maxSubmitted = 256 << 10

// flamencoVersion is the version of the Manager whose requests and answers these are. An add-on submits without asking
// its user only to a Manager of its own version, which it names in User-Agent.
const flamencoVersion = "3.9-beta1"

var addOn = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Flamenco/(3\.[0-9]{1,3}[0-9A-Za-z.-]{0,20}) `)
})

// flamenco is the part of the API of a Flamenco Manager that its add-on for Blender calls.
type flamenco struct{ farm serve.Inside }

func openFlamenco(farm serve.Inside) (serve.Door, error) {
	cfg := farm.Settings()
	l, err := net.Listen("tcp", cfg.FlamencoListen)
	if err != nil {
		return serve.Door{}, fmt.Errorf("supervisor_flamenco_listen = %s: %w; end what listens there, or set another port",
			cfg.FlamencoListen, err)
	}
	handler := guarded(farm, cfg.FlamencoListen, flamencoRefusal, maxSubmitted, flamenco{farm}.routes())
	said := func() string {
		now := farm.Settings()
		return fmt.Sprintf("open without a login: http://%s for the Flamenco add-on, to %s; it submits as %s", l.Addr(),
			openTo(now.DoorHosts, l.Addr()), now.FlamencoOwner)
	}
	farm.Log().Warn("a door is " + said())
	return serve.Door{Said: said,
		Run: func(ctx context.Context) error { return serveHTTP(ctx, l, handler) }}, nil
}

// openTo says who reaches a door.
func openTo(hosts string, at net.Addr) string {
	if tcp, ok := at.(*net.TCPAddr); ok && tcp.IP.IsLoopback() || hosts == "" {
		return "all users of this machine"
	}
	return "all users of this machine and of " + hosts
}

func (f flamenco) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v3/version", f.version)
	mux.HandleFunc("GET /api/v3/configuration/shared-storage/{audience}/{platform}", f.storage)
	mux.HandleFunc("GET /api/v3/jobs/types", f.types)
	mux.HandleFunc("GET /api/v3/worker-mgt/tags", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, http.StatusOK, map[string]any{"tags": []string{}})
	})
	mux.HandleFunc("POST /api/v3/jobs/check", f.check)
	mux.HandleFunc("POST /api/v3/jobs", f.submit)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		flamencoRefusal(w, http.StatusNotFound, fmt.Sprintf(
			"the farm has no %s %s: this door takes submissions of the Flamenco add-on, and qb has its own page and commands",
			problem.Clip(r.Method), problem.Clip(r.URL.Path)))
	})
	return mux
}

func flamencoRefusal(w http.ResponseWriter, status int, text string) {
	answerJSON(w, status, map[string]any{"code": status, "message": text})
}

// fail answers with a refusal of the farm. The add-on shows its user the text of status 400 alone, so that whatever a
// person can do something about has that one.
func fail(w http.ResponseWriter, err error) {
	status := problem.Of(err).Status
	switch {
	case status == http.StatusPreconditionFailed, status == http.StatusRequestEntityTooLarge:
	case status < http.StatusInternalServerError:
		status = http.StatusBadRequest
	}
	flamencoRefusal(w, status, problem.Of(err).Detail)
}

// visitor is as whom a request acts.
func (f flamenco) visitor(r *http.Request) *api.Client {
	owner := f.farm.Settings().FlamencoOwner
	return f.farm.Client(serve.Visit{Door: "flamenco", From: gate.RemoteHost(r), User: owner, Open: []string{owner}})
}

func (f flamenco) version(w http.ResponseWriter, r *http.Request) {
	version := flamencoVersion
	if m := addOn().FindStringSubmatch(r.UserAgent()); m != nil {
		version = m[1]
	}
	answerJSON(w, http.StatusOK, map[string]any{"version": version, "shortversion": version,
		"name": "qb " + f.farm.Version() + " as a Flamenco Manager", "git": f.farm.Version()})
}

// storage says where an artist's machine copies scenes to.
func (f flamenco) storage(w http.ResponseWriter, r *http.Request) {
	audience, platform := r.PathValue("audience"), r.PathValue("platform")
	folder := f.farm.Settings().FlamencoStorage[platform]
	switch {
	case audience != "users":
		flamencoRefusal(w, http.StatusNotFound, "only users ask for the storage: qb's workers are told by the farm")
	case folder == "":
		flamencoRefusal(w, http.StatusNotFound, fmt.Sprintf(
			"the farm has no storage for machines of %q: an admin names it in supervisor_flamenco_storage",
			problem.Clip(platform)))
	default:
		answerJSON(w, http.StatusOK, map[string]any{"location": folder, "audience": audience, "platform": platform,
			"shamanEnabled": false})
	}
}

// types lists those job types of the farm that take a scene of Blender.
func (f flamenco) types(w http.ResponseWriter, r *http.Request) {
	if err := f.visitor(r).Call(r.Context(), api.ListJobTypes, nil, nil, nil); err != nil {
		fail(w, err)
		return
	}
	all, errs := openjdjobs.Types(f.farm.Settings().Types)
	for _, err := range errs {
		f.farm.Log().Warn("a job type is left out", "error", err)
	}
	shown := []flamencoType{}
	for _, t := range all {
		of, err := projected(t)
		if err != nil {
			f.farm.Log().Info("a job type is not offered to Flamenco", "type", t.Name, "reason", err)
			continue
		}
		shown = append(shown, of)
	}
	answerJSON(w, http.StatusOK, map[string]any{"job_types": shown})
}

// flamencoJob is what the add-on submits.
type flamencoJob struct {
	Name          string            `json:"name"`
	Type          string            `json:"type"`
	TypeETag      string            `json:"type_etag,omitempty"`
	Priority      *int              `json:"priority"`
	Platform      string            `json:"submitter_platform"`
	Settings      map[string]any    `json:"settings"`
	Metadata      map[string]string `json:"metadata"`
	InitialStatus string            `json:"initial_status,omitempty"`
	WorkerTag     string            `json:"worker_tag,omitempty"`
	Storage       *struct {
		Checkout string `json:"shaman_checkout_id"`
	} `json:"storage,omitempty"`
}

// readFlamencoJob reads the body of a submission.
func readFlamencoJob(r *http.Request) (j flamencoJob, err error) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return j, problem.Invalid("Content-Type", "send the job as application/json")
	}
	d := json.NewDecoder(r.Body)
	d.UseNumber()
	err = d.Decode(&j)
	if err == nil {
		_, err = d.Token() // the end
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return j, problem.New(api.KindInvalid, http.StatusRequestEntityTooLarge,
			fmt.Sprintf("the job has more than %d bytes", large.Limit))
	case err != io.EOF:
		return j, problem.Invalid("body", "the job is no JSON of this form: %v", cmp.Or(err, errors.New("text follows it")))
	}
	return j, nil
}

// request is a job as the farm takes it. Scene is a name for the file in a check, before the add-on has copied it; "":
// the job is submitted.
func (f flamenco) request(j flamencoJob, scene string) (*api.OpenJDRequest, error) {
	t, err := openjdjobs.FindType(f.farm.Settings().Types, j.Type)
	if err != nil {
		return nil, err
	}
	of, err := projected(t)
	if err != nil {
		return nil, problem.Invalid("type", "%s is not for this door: %v", t.Name, err)
	}
	if j.TypeETag != "" && j.TypeETag != of.ETag {
		return nil, problem.New(api.KindConflict, http.StatusPreconditionFailed, fmt.Sprintf(
			"the job type %s has changed since the add-on read it; refresh, and submit again", t.Name))
	}
	switch {
	case j.WorkerTag != "":
		return nil, problem.Invalid("worker_tag", "%q: the farm has no worker tags; choose all",
			problem.Clip(j.WorkerTag))
	case j.Storage != nil && j.Storage.Checkout != "":
		return nil, problem.Invalid("storage", "the farm has no Shaman; copy the scene into the shared storage")
	case len(j.Metadata) > 0:
		return nil, problem.Invalid("metadata", "the farm keeps none; leave it out")
	}
	r := &api.OpenJDRequest{Type: t.Name, Job: &api.SubmitRequest{}}
	if r.Values, err = of.values(j, f.farm.Settings().FlamencoStorage, scene); err != nil {
		return nil, err
	}
	if of.name == "" { // the template has a name of its own
		r.Job.Notes = j.Name
	}
	switch j.InitialStatus {
	case "", "queued":
	case "paused":
		r.Job.Status = "blocked"
	default:
		return nil, problem.Invalid("initial_status", "%q: write queued or paused", problem.Clip(j.InitialStatus))
	}
	cfg := f.farm.Settings()
	r.Job.Priority, err = priorityOf(j.Priority, cfg.HighestUser, cfg.DefaultPriority, cfg.MaxPriority)
	return r, err
}

// flamencoDefault is the middle of Flamenco's priorities, 0 to 100, of which the highest goes first.
const flamencoDefault = 50

// priorityOf is a priority of Flamenco as one of the farm, where 1 goes first: 50 is the site's default, 100 the best
// that a user may ask for, 0 the worst.
func priorityOf(asked *int, best, normal, worst int) (*int, error) {
	switch {
	case asked == nil || *asked == flamencoDefault:
		return nil, nil
	case *asked < 0 || *asked > 2*flamencoDefault:
		return nil, problem.Invalid("priority", "%d: write 0 to %d", *asked, 2*flamencoDefault)
	}
	off := *asked - flamencoDefault
	if off > 0 {
		return new(normal - max(0, normal-best)*off/flamencoDefault), nil
	}
	return new(normal + (worst-normal)*-off/flamencoDefault), nil
}

// check answers before the add-on copies its files.
func (f flamenco) check(w http.ResponseWriter, r *http.Request) {
	j, err := readFlamencoJob(r)
	if err != nil {
		fail(w, err)
		return
	}
	request, err := f.request(j, "scene.blend")
	if err != nil {
		fail(w, err)
		return
	}
	var seen api.OpenJDCheck
	if err := f.visitor(r).Call(r.Context(), api.CheckOpenJD, nil, request, &seen); err != nil {
		fail(w, err)
		return
	}
	if err := refusalsOf(seen); err != nil {
		fail(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// refusalsOf is what a check says against a job.
func refusalsOf(seen api.OpenJDCheck) error {
	var all []string
	for _, p := range seen.Problems {
		if p.Path != "" {
			all = append(all, p.Path+": "+p.Reason)
		} else {
			all = append(all, p.Reason)
		}
	}
	for _, one := range seen.Refusals {
		all = append(all, one.Message)
	}
	if len(all) == 0 {
		return nil
	}
	return api.Errorf(api.KindInvalid, "%s", units.Few(all))
}

// submit makes the jobs, and answers as a Manager does about its one.
func (f flamenco) submit(w http.ResponseWriter, r *http.Request) {
	j, err := readFlamencoJob(r)
	if err != nil {
		fail(w, err)
		return
	}
	request, err := f.request(j, "")
	if err != nil {
		fail(w, err)
		return
	}
	var made api.OpenJDReply
	farm := f.visitor(r)
	if err := farm.Call(r.Context(), api.SubmitOpenJD, nil, request, &made); err != nil {
		fail(w, err)
		return
	}
	answerJSON(w, http.StatusOK, f.answer(j, made))
}

// answer shows the jobs of a submission as the one of a Manager. Its id is that of the first.
func (f flamenco) answer(j flamencoJob, made api.OpenJDReply) map[string]any {
	var steps []string
	for _, one := range made.Jobs {
		steps = append(steps, fmt.Sprintf("%s is job %d", one.Step, one.Job))
	}
	status := cmp.Or(j.InitialStatus, "queued")
	now := time.Now().UTC().Format(time.RFC3339)
	return map[string]any{"id": fmt.Sprint(made.Jobs[0].Job), "name": j.Name, "type": j.Type, "type_etag": j.TypeETag,
		"priority": *cmp.Or(j.Priority, new(flamencoDefault)), "submitter_platform": j.Platform, "settings": j.Settings,
		"metadata": map[string]string{}, "created": now, "updated": now, "status": status, "initial_status": status,
		"activity":        strings.Join(append(steps, made.Remarks...), "; "),
		"steps_completed": 0, "steps_total": len(made.Jobs)}
}
