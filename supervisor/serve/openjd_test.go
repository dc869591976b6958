package serve

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qb/api"
	"qb/supervisor/wire/settings"
)

const twoSteps = `specificationVersion: jobtemplate-2023-09
name: Shot {{Param.Shot}}
parameterDefinitions:
- {name: Shot, type: STRING, userInterface: {control: LINE_EDIT, label: The shot, groupLabel: Scene}}
- {name: Scene, type: PATH, default: ""}
- {name: Frames, type: STRING, default: 1-20}
steps:
- name: Film
  dependencies: [{dependsOn: Frames}]
  script: {actions: {onRun: {command: "true"}}}
- name: Frames
  parameterSpace: {taskParameterDefinitions: [{name: Frame, type: INT, range: "{{Param.Frames}}"}]}
  hostRequirements: {amounts: [{name: amount.maya, min: 1}], attributes: [{name: attr.software, anyOf: [maya, houdini]}]}
  script: {actions: {onRun: {command: "true"}}}
`

const condaEnvironment = `specificationVersion: environment-2023-09
parameterDefinitions: [{name: Packages, type: STRING, default: blender}]
environment: {name: Conda, variables: {PACKAGES: "{{Param.Packages}}"}}
`

// openjdRig is a farm whose site knows an amount, an attribute and an environment.
func openjdRig(t *testing.T, change func(*settings.Config)) *rig {
	site := filepath.Join(t.TempDir(), "conda.yaml")
	if err := os.WriteFile(site, []byte(condaEnvironment), 0o600); err != nil {
		t.Fatal(err)
	}
	r := startRig(t, func(c *settings.Config, _ *Options) {
		c.Resources = "license.maya=3"
		c.OpenJDAmounts = map[string]string{"amount.maya": "license.maya"}
		c.OpenJDAttributes = map[string]string{"attr.software": "{} in host.flags"}
		c.OpenJDTemplates = map[string]string{"/": "", "/show": site}
		change(c)
	})
	r.agent("h1", 8).beat(0)
	return r
}

func shot(values map[string]string) api.OpenJDRequest {
	return api.OpenJDRequest{Template: api.OpenJDDocument{Text: twoSteps}, Values: values,
		Job: &api.SubmitRequest{Cluster: "/show/a", Status: "blocked"}}
}

// TestOpenJD: a job of Open Job Description is one submission, with what the site adds to it, and a check shows it.
func TestOpenJD(t *testing.T) {
	t.Parallel()
	r := openjdRig(t, func(*settings.Config) {})
	u1 := r.client("u1", api.User)
	check := func(body api.OpenJDRequest) api.OpenJDCheck {
		t.Helper()
		return must[api.OpenJDCheck](t, u1, api.CheckOpenJD, nil, body)
	}
	seen := check(shot(map[string]string{"Shot": "s1"}))
	if seen.Name != "Shot s1" || len(seen.Problems)+len(seen.Refusals) != 0 || len(seen.Steps) != 2 {
		t.Fatalf("%+v", seen)
	}
	if s := seen.Steps[1]; s.Items != 20 || s.First[1] != "Frame=2" || s.Last != "Frame=20" || s.Environments[0] != "Conda" {
		t.Errorf("%+v", s)
	}
	if p := seen.Parameters; len(p) != 4 || p[0].Name != "Packages" || !p[0].Site || p[1].Site || p[1].Label != "The shot" ||
		p[1].Group != "Scene" || p[2].Control != "CHOOSE_DIRECTORY" {
		t.Errorf("%+v", p)
	}
	if jobs := must[[]api.Job](t, u1, api.ListJobs, nil, nil); len(jobs) != 0 {
		t.Errorf("a check made %d jobs", len(jobs))
	}
	header := http.Header{"Idempotency-Key": {"k"}}
	body := shot(map[string]string{"Shot": "s1", "Packages": "maya"})
	var first, again api.OpenJDReply
	for _, to := range []*api.OpenJDReply{&first, &again} {
		if err := u1.CallWith(t.Context(), api.SubmitOpenJD, nil, body, to, header); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(first) != fmt.Sprint(again) || len(first.Jobs) != 2 || first.Jobs[0].Step != "Frames" {
		t.Fatalf("%+v and %+v", first, again)
	}
	rendered := must[api.Job](t, u1, api.GetJob, api.Params{"job": fmt.Sprint(first.Jobs[0].Job)}, nil)
	film := must[api.Job](t, u1, api.GetJob, api.Params{"job": fmt.Sprint(first.Jobs[1].Job)}, nil)
	if rendered.Reservations != "license.maya=1" || rendered.Label != "Frames" || rendered.Status != "blocked" ||
		rendered.Requirements != `("maya" in host.flags or "houdini" in host.flags)` || rendered.Items.Total != 20 {
		t.Errorf("%+v", rendered)
	}
	windows := shot(map[string]string{"Shot": "s1", "Scene": `P:\a.ma`})
	windows.Template.Text = strings.Replace(twoSteps, ", attributes: [{name: attr.software, anyOf: [maya, houdini]}]", "", 1)
	windows.Job.PathMap = []string{"Q:=/mnt/q"}
	ofWindows := must[api.OpenJDReply](t, u1, api.SubmitOpenJD, nil, windows)
	waits := must[api.Job](t, u1, api.GetJob, api.Params{"job": fmt.Sprint(ofWindows.Jobs[0].Job)}, nil)
	if waits.System != "windows" || rendered.System != "linux" {
		t.Errorf("%s and %s", waits.System, rendered.System)
	}
	if film.PGrp != rendered.ID || film.Dependency != "link-complete-job-Frames" || film.Cluster != "/show/a" {
		t.Errorf("%+v", film)
	}
}

// TestOpenJDRefused: what is wrong is named with its place, a check and a submission say the same, and nothing is made.
func TestOpenJDRefused(t *testing.T) {
	t.Parallel()
	r := openjdRig(t, func(*settings.Config) {})
	u1 := r.client("u1", api.User)
	with := func(text string, values map[string]string) api.OpenJDRequest {
		body := shot(values)
		body.Template.Text = text
		return body
	}
	good := map[string]string{"Shot": "s1"}
	cases := map[string]api.OpenJDRequest{
		`template: line 2, column 7: name: `:                         with(strings.Replace(twoSteps, "Param.Shot", "Param.None", 1), good),
		`values: Shot: has no value`:                                 shot(nil),
		`values: Scene: "x.blend" is not an absolute path`:           shot(map[string]string{"Shot": "a", "Scene": "x.blend"}),
		`values: Nothing: there is a value`:                          shot(map[string]string{"Shot": "a", "Nothing": "1"}),
		`template: specificationVersion: the document is an environ`: with(condaEnvironment, nil),
		`supervisor_openjd_amounts`:                                  with(strings.Replace(twoSteps, "amount.maya", "amount.nuke", 1), good),
		`supervisor_openjd_attributes`:                               with(strings.Replace(twoSteps, "attr.software", "attr.color", 1), good),
		`range is decided by the template`: {Template: api.OpenJDDocument{Text: twoSteps}, Values: good,
			Job: &api.SubmitRequest{Range: "1-5"}},
		`account: "/nowhere"`: {Template: api.OpenJDDocument{Text: twoSteps}, Values: good,
			Job: &api.SubmitRequest{Account: "/nowhere"}},
		`neither READY nor SUSPENDED`: {Template: api.OpenJDDocument{Text: twoSteps}, Values: good,
			Bundle: map[string]string{"deadline:targetTaskRunStatus": "NOW"}},
		`expected length <= 1048576`: with(strings.Repeat("[", 1<<20+1), nil),
	}
	for want, body := range cases {
		delete(cases, want)
		var none api.OpenJDReply
		err := u1.Call(t.Context(), api.SubmitOpenJD, nil, body, &none)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
			continue
		}
		var seen api.OpenJDCheck
		if err := u1.Call(t.Context(), api.CheckOpenJD, nil, body, &seen); err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("want %q: %v", want, err)
			}
			continue
		}
		if text := fmt.Sprint(seen.Problems, seen.Refusals); len(seen.Problems)+len(seen.Refusals) != 1 {
			t.Errorf("want %q: %s", want, text)
		}
	}
	if jobs := must[[]api.Job](t, u1, api.ListJobs, nil, nil); len(jobs) != 0 {
		t.Errorf("%d jobs were made", len(jobs))
	}
}

// TestOpenJDTakenBack: if the farm refuses a later step after all, the jobs before it are killed, and the answer says so.
func TestOpenJDTakenBack(t *testing.T) {
	t.Parallel()
	r := openjdRig(t, func(c *settings.Config) { c.UserJobs = 1 })
	u1 := r.client("u1", api.User)
	var none api.OpenJDReply
	header := http.Header{"Idempotency-Key": {"k"}}
	submit := func() error {
		return u1.CallWith(t.Context(), api.SubmitOpenJD, nil, shot(map[string]string{"Shot": "s1"}), &none, header)
	}
	err := submit()
	if err == nil || !strings.Contains(err.Error(), "step Film: ") || !strings.Contains(err.Error(), "are killed") {
		t.Error(err)
	}
	jobs := must[[]api.Job](t, u1, api.ListJobs, nil, nil)
	if len(jobs) != 1 || jobs[0].Status != "killed" {
		t.Errorf("%+v", jobs)
	}
	if err := submit(); err == nil || !strings.Contains(err.Error(), "repeat it under another key") {
		t.Errorf("a repetition of what was taken back: %v", err)
	}
}
