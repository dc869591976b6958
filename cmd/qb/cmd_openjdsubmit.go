package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/units"
	"qb/openjd"
	"qb/supervisor/job/facts"
)

const (
	// openjdVariable carries what a session runs to the host, in letters, digits, - and _ alone: no path map and no
	// token changes them.
	openjdVariable = "QB_OPENJD"
	// mostOpenJDSteps is a limit of labels that jobs wait for.
	mostOpenJDSteps = 500
	// mostOpenJDData bounds what a host unpacks.
	mostOpenJDData = 32 << 20
)

// openjdData is what a session needs of a job: the documents as they were submitted, and the values with paths that
// the client has made absolute.
type openjdData struct {
	Version   int               `json:"version"`
	Documents []openjdDocument  `json:"documents"` // the job template, then environment templates
	Values    map[string]string `json:"values"`
	Step      string            `json:"step"`
}

// pack makes the value of openjdVariable.
func (d *openjdData) pack() (string, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err = w.Write(text)
	if err = cmp.Or(err, w.Close()); err != nil {
		return "", err
	}
	value := base64.RawURLEncoding.EncodeToString(packed.Bytes())
	if most := api.MaxWord - len(openjdVariable+"="); len(value) > most || len(text) > mostOpenJDData {
		return "", api.Errorf(api.KindInvalid,
			"the template, its environment templates and values have %d bytes, compressed %d, and a job carries at most %d and %d of them: put large embedded files into files that hosts see",
			len(text), len(value), mostOpenJDData, most)
	}
	return value, nil
}

// openjdSubmitOptions are the options of qb openjd submit.
type openjdSubmitOptions struct {
	openjdOptions
	sub     subOptions
	remarks []string
}

const openjdSubmitLong = `Submit the job of a template: a job of the farm for each step, all in one process group, with the names of the steps as
labels. An item is a task, or a chunk of tasks, and runs in a session of its own: environments are entered, the task
runs, and environments are left in reverse. A folder is a bundle, with template.yaml or .json and parameter_values. The
ids of the jobs are printed, each after those that it depends on.`

func newOpenJDSubmitCommand() *cobra.Command {
	o := &openjdSubmitOptions{}
	cmd := &cobra.Command{
		Use: "submit TEMPLATE", Short: "Submit the job of a template, or of a bundle's folder", Long: openjdSubmitLong,
		Example: "  qb openjd submit -p Frames=1-100 template.yaml\n  qb openjd submit -priority 100 ~/.deadline/job_history/bundle",
		Args:    commandline.WantArgs(1, 1, "template"),
		RunE: func(cmd *cobra.Command, words []string) error {
			return cmp.Or(o.sub.results.Check(), o.run(cmd, words[0]))
		},
	}
	f := cmd.Flags()
	o.bindExtensions(f)
	o.bindValues(f)
	for _, name := range []string{"priority", "cpus", "max_cpus", "cluster", "account", "restrictions", "retrywork", "flags"} {
		attributeOption(submitOption).bind(f, facts.AttributeNamed(name))
	}
	o.sub.results.Bind(f)
	bindRepeat(cmd)
	return cmd
}

func (o *openjdSubmitOptions) run(cmd *cobra.Command, name string) error {
	template, err := o.bundle(name)
	if err != nil {
		return err
	}
	j, err := o.job(template)
	if err != nil {
		return err
	}
	requests, err := o.requests(cmd, j)
	if err != nil {
		return err
	}
	c := connect(cmd)
	for _, r := range requests { // a refusal of one leaves nothing behind
		reply, err := call[api.SubmissionCheck](cmd.Context(), c, api.CheckSubmission, nil, r)
		if err != nil {
			return err
		}
		for _, refused := range reply.Refusals {
			return api.Errorf(refused.Kind, "step %s: %s", output.Escape(r.Label), refused.Message)
		}
	}
	out := cmd.OutOrStdout()
	jobs, err := o.submit(cmd, c, requests)
	for _, id := range jobs {
		err = cmp.Or(err, o.sub.results.Add(out, output.Result{Job: id, Action: "submit", Affected: 1}, fmt.Sprint(id)))
	}
	err = o.sub.results.Flush(out, err)
	remark(cmd, o.remarks)
	return err
}

// submit makes the jobs, each under a key of its own, so that a repetition finds what was made. If one is refused after
// all, the jobs before it are killed.
func (o *openjdSubmitOptions) submit(cmd *cobra.Command, c *client, requests []*api.SubmitRequest) ([]int64, error) {
	var jobs []int64
	for n, r := range requests {
		if n > 0 {
			r.PGrp = int(jobs[0])
		}
		var reply api.SubmitReply
		err := c.Change(cmd.Context(), fmt.Sprint(n), api.Submit, nil, r, &reply)
		switch {
		case err == nil:
		case unavailable(err) || cmd.Context().Err() != nil || len(jobs) == 0:
			return nil, err // what was made is found again under the key
		default:
			return nil, o.undo(cmd, c, jobs, fmt.Errorf("step %s: %w", output.Escape(r.Label), err))
		}
		jobs = append(jobs, reply.Job)
		for _, text := range reply.Remarks {
			o.remarks = append(o.remarks, fmt.Sprintf("step %s: %s", r.Label, text))
		}
	}
	return jobs, nil
}

func (o *openjdSubmitOptions) undo(cmd *cobra.Command, c *client, jobs []int64, err error) error {
	for _, id := range jobs {
		if _, failed := c.Order(cmd.Context(), id, "", "kill"); failed != nil {
			return fmt.Errorf("%w; job %d of this submission remains: %v", err, id, failed)
		}
	}
	return fmt.Errorf("%w; the jobs of this submission that were made, %s, are killed", err,
		strings.Trim(fmt.Sprint(jobs), "[]"))
}

// bundle finds the template of a folder, and takes the values that are beside it.
func (o *openjdSubmitOptions) bundle(name string) (template string, err error) {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return name, nil
	}
	if template, err = bundleFile(name, "template"); err != nil {
		return "", err
	}
	if template == "" {
		return "", api.Errorf(api.KindInvalid, "%s: the folder has neither template.yaml nor template.json",
			output.Escape(name))
	}
	values, err := bundleFile(name, "parameter_values")
	if err != nil {
		return "", err
	}
	if values != "" { // options come later and override them
		o.parameters = append([]string{"file://" + values}, o.parameters...)
	}
	assets, err := bundleFile(name, "asset_references")
	if assets != "" {
		o.remarks = append(o.remarks, assets+" is not read: qb copies no files, and hosts must see them by the same paths")
	}
	return template, err
}

// bundleFile is the file of a bundle, in one of its two syntaxes; "" if there is none.
func bundleFile(folder, name string) (string, error) {
	var found []string
	for _, extension := range []string{".yaml", ".json"} {
		if file := filepath.Join(folder, name+extension); fileExists(file) {
			found = append(found, file)
		}
	}
	if len(found) > 1 {
		return "", api.Errorf(api.KindInvalid, "%s and %s are both there; remove one", output.Escape(found[0]),
			output.Escape(found[1]))
	}
	return strings.Join(found, ""), nil
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// requests are the jobs of the steps, in the order of their dependencies.
func (o *openjdSubmitOptions) requests(cmd *cobra.Command, j *openjd.Job) ([]*api.SubmitRequest, error) {
	if len(j.Steps) > mostOpenJDSteps {
		return nil, api.Errorf(api.KindInvalid, "the job has %d steps, and at most %d become jobs of one process group",
			len(j.Steps), mostOpenJDSteps)
	}
	unlimited := facts.NoLimit
	o.sub.req = api.SubmitRequest{
		Name: clipRunes(j.Name, facts.MaxName), Command: []string{`exec "$QBDIR/qb" openjd session`}, Shell: true,
		Cwd: "/", System: "linux", MaxCPUs: &unlimited,
		RegexProgress: `^openjd_progress: ([0-9.]+)`, RegexHighlights: "^openjd_status: .*\n^openjd_fail: .*",
	}
	suspended, err := o.farmValues()
	if err != nil {
		return nil, err
	}
	if _, err := attributeOption(submitOption).give(cmd.Flags(), &o.sub.req); err != nil {
		return nil, err
	}
	if err := cmp.Or(o.sub.addDefaults(cmd), o.sub.addSurroundings(cmd)); err != nil {
		return nil, err
	}
	data := openjdData{Version: 1, Documents: o.documents, Values: map[string]string{}}
	for _, v := range j.Values {
		data.Values[v.Name] = v.Value
	}
	labels := o.labels(j)
	var requests []*api.SubmitRequest
	for _, s := range j.Ordered() {
		r := o.sub.req
		data.Step = s.Name
		packed, err := data.pack()
		if err == nil {
			err = o.needs(s, &r)
		}
		if err != nil {
			return nil, err
		}
		r.Env = maps.Clone(r.Env)
		if r.Env == nil {
			r.Env = map[string]string{}
		}
		r.Env[openjdVariable] = packed
		r.Label = labels[s.Name]
		r.Range = "0"
		if n := s.Space.Len(); n > 1 {
			r.Range = fmt.Sprintf("0-%d", n-1)
		}
		var links []string
		for _, before := range s.Dependencies {
			links = append(links, "link-complete-job-"+labels[before])
		}
		r.Dependency = strings.Join(links, ",")
		if suspended && len(links) == 0 { // to unblock a job ends its waiting for others, too
			r.Status = "blocked"
		}
		requests = append(requests, &r)
	}
	return requests, nil
}

func clipRunes(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most])
	}
	return s
}

// labels are the labels of the steps' jobs: their names, where a link can name them.
func (o *openjdSubmitOptions) labels(j *openjd.Job) map[string]string {
	labels := map[string]string{}
	for n, s := range j.Steps {
		label := s.Name
		beforeColon, _, _ := strings.Cut(label, ":")
		if strings.Contains(label, ",") || strings.TrimSpace(label) != label || len([]rune(label)) > facts.MaxName ||
			strings.Trim(beforeColon, "0123456789") == "" {
			label = fmt.Sprintf("step %d", n+1)
			o.remarks = append(o.remarks, fmt.Sprintf("the label of %q is %q: a label has up to %d characters without commas or blanks around them, and is no number",
				s.Name, label, facts.MaxName))
		}
		labels[s.Name] = label
	}
	return labels
}

// farmValues takes the values of a bundle that are for a farm, and remarks on what qb has nothing like.
func (o *openjdSubmitOptions) farmValues() (suspended bool, err error) {
	for _, name := range slices.Sorted(maps.Keys(o.ofFarm)) {
		value := o.ofFarm[name]
		number := func(most int) (n int) {
			n, failed := strconv.Atoi(value)
			if failed != nil || n < 0 || n > most {
				err = api.Errorf(api.KindInvalid, "%s: %q is not a whole number from 0 to %d", name, value, most)
			}
			return n
		}
		switch name {
		case "deadline:priority":
			switch n := number(100); {
			case n > standardOpenJDPriority: // from just better than the default to the best
				o.sub.req.Priority = new(1 + (100-n)*9998/(100-standardOpenJDPriority))
			case n < standardOpenJDPriority:
				o.remarks = append(o.remarks, fmt.Sprintf("%s %d is below 50 and counts as the farm's default priority; -priority gives another", name, n))
			}
		case "deadline:maxRetriesPerTask":
			o.sub.req.RetryWork = new(number(facts.MaxRetryWork))
		case "deadline:targetTaskRunStatus":
			suspended = value == "SUSPENDED"
			if !suspended && value != "READY" {
				err = api.Errorf(api.KindInvalid, "%s: %q is neither READY nor SUSPENDED", name, value)
			}
		default:
			o.remarks = append(o.remarks, fmt.Sprintf("%s is left out: qb has nothing like it", name))
		}
	}
	return suspended, err
}

// standardOpenJDPriority is what dialogs write where the user chooses nothing, of 0 to 100, the best.
const standardOpenJDPriority = 50

// openjdReservations are the amounts that qb reserves.
var openjdReservations = map[string]string{
	"amount.worker.vcpu": "host.processors=%s", "amount.worker.memory": "host.memory=%sMiB",
	"amount.worker.gpu": "host.gpus=%s",
}

// openjdConditions are the attributes that are conditions on hosts, with their values. A session runs on Linux.
var openjdConditions = map[string]map[string]string{
	"attr.worker.os.family": {"linux": "host.os = linux"},
	"attr.worker.cpu.arch":  {"x86_64": "host.architecture = x86_64", "arm64": "host.architecture = aarch64"},
}

// needs makes reservations and requirements of what a step needs of a host.
func (o *openjdSubmitOptions) needs(s *openjd.Step, r *api.SubmitRequest) error {
	var reservations, conditions []string
	for _, a := range s.Amounts {
		form, known := openjdReservations[a.Name]
		if !known {
			return api.Errorf(api.KindInvalid,
				"step %s needs %s, and qb has no such amount; there are amount.worker.vcpu, memory and gpu", output.Escape(s.Name),
				output.Escape(a.Name))
		}
		if a.Max != nil {
			o.remarks = append(o.remarks, fmt.Sprintf("step %s: the max of %s is left out; its min is reserved", s.Name, a.Name))
		}
		if a.Min != nil && *a.Min > 0 {
			reservations = append(reservations, fmt.Sprintf(form, wholeUp(*a.Min)))
		}
	}
	for _, a := range s.Attributes {
		for _, values := range [][]string{a.AnyOf, a.AllOf} {
			if len(values) == 0 {
				continue
			}
			var fitting []string
			for _, value := range values {
				if condition := openjdConditions[a.Name][strings.ToLower(value)]; condition != "" {
					fitting = append(fitting, condition)
				}
			}
			if len(fitting) == 0 {
				return api.Errorf(api.KindInvalid,
					"step %s needs %s %s, which no host of qb has; there are attr.worker.os.family linux and attr.worker.cpu.arch x86_64 and arm64",
					output.Escape(s.Name), output.Escape(a.Name), output.Escape(units.Few(values)))
			}
			conditions = append(conditions, "("+strings.Join(fitting, " or ")+")")
		}
	}
	r.Reservations = strings.Join(reservations, ",")
	r.Requirements = strings.Join(conditions, " and ")
	return nil
}

// wholeUp is a number rounded up, in digits.
func wholeUp(n float64) string { return strconv.FormatFloat(math.Ceil(n), 'f', -1, 64) }
