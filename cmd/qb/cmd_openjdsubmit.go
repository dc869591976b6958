package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/openjd"
	"qb/supervisor/job/facts"
)

// openjdSubmitOptions are the options of qb openjd submit.
type openjdSubmitOptions struct {
	openjdOptions
	sub     subOptions
	remarks []string
}

const openjdSubmitLong = `Submit the job of a template: a job of the farm for each step, all in one process group, with the names of the steps as
labels. An item is a task, or a chunk of tasks. An instance is a session: environments are entered once, tasks run one
after another, and environments are left in reverse. A folder is a bundle, with template.yaml or .json and
parameter_values. The ids of the jobs are printed, each after those that it depends on.`

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
	for _, name := range []string{"priority", "cpus", "max_cpus", "cluster", "account", "restrictions", "retrywork", "flags",
		"pathmap"} {
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
	request, err := o.request(template)
	if err != nil {
		return err
	}
	_, err = o.sub.submitOpenJD(cmd, connect(cmd), request, o.remarks)
	return err
}

// submitOpenJD sends a request with the attributes of the options, and prints the jobs that it makes.
func (o *subOptions) submitOpenJD(cmd *cobra.Command, c *client, r *api.OpenJDRequest,
	remarks []string) ([]api.OpenJDJob, error) {
	reply, err := o.sendOpenJD(cmd, c, r)
	if err != nil {
		return nil, err
	}
	for _, j := range reply.Jobs {
		err = cmp.Or(err, o.results.Add(cmd.OutOrStdout(), output.Result{Job: j.Job, Action: "submit", Affected: 1},
			fmt.Sprint(j.Job)))
	}
	err = o.results.Flush(cmd.OutOrStdout(), err)
	remark(cmd, slices.Concat(remarks, reply.Remarks))
	return reply.Jobs, err
}

// sendOpenJD sends a request with the attributes of the options.
func (o *subOptions) sendOpenJD(cmd *cobra.Command, c *client,
	r *api.OpenJDRequest) (reply api.OpenJDReply, err error) {
	r.Job = &o.req
	if _, err := attributeOption(submitOption).give(cmd.Flags(), r.Job); err != nil {
		return reply, err
	}
	if o.mail {
		r.Job.Flags = append(r.Job.Flags, facts.FlagMail)
	}
	r.Job.Type = "" // a job type and its range are members of the request itself
	r.Job.Range = ""
	cwd, system := r.Job.Cwd, r.Job.System // if they are given, the farm refuses them
	if err := cmp.Or(o.addDefaults(cmd), o.addWaitFor(), o.addSurroundings(cmd)); err != nil {
		return reply, err
	}
	r.Job.Cwd = cwd
	r.Job.System = system
	err = c.Change(cmd.Context(), "", api.SubmitOpenJD, nil, r, &reply)
	return reply, err
}

// request is the job of a template and the options.
func (o *openjdSubmitOptions) request(template string) (*api.OpenJDRequest, error) {
	d, err := o.readJob(template)
	if err != nil {
		return nil, err
	}
	s, err := o.submission(template)
	if err != nil {
		return nil, err
	}
	r := &api.OpenJDRequest{Template: o.documents[0], Environments: o.documents[1:], Bundle: o.ofFarm}
	if r.Values, err = openjd.Joined(d, s); err != nil {
		return nil, inFile(template, err)
	}
	return r, nil
}

// bundle finds the template of a folder, and takes the values that are beside it.
func (o *openjdSubmitOptions) bundle(name string) (template string, err error) {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return name, nil
	}
	found, err := openjd.FindBundle(func(file string) bool { return fileExists(filepath.Join(name, file)) })
	if err != nil {
		return "", api.Errorf(api.KindInvalid, "%s: %v", output.Escape(name), err)
	}
	if found.Values != "" { // options come later and override them
		o.parameters = append([]string{"file://" + filepath.Join(name, found.Values)}, o.parameters...)
	}
	if found.Assets != "" {
		o.remarks = append(o.remarks, filepath.Join(name, found.Assets)+
			" is not read: qb copies no files, and hosts must see them by the same paths")
	}
	return filepath.Join(name, found.Template), nil
}

func fileExists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
