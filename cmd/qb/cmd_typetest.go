package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/units"
	"qb/supervisor/job/facts"
)

// typeTestOptions are the options of qb type test.
type typeTestOptions struct {
	sub    subOptions
	folder string
	wait   units.Span
}

const typeTestLong = `Submit the sample of a job type, wait until it has ended, and check that the files that it should make are there, that
they are what they should be, and that there are no others. A line is printed for each check.

The files are in a new folder, which hosts must see: below the temporary folder of this machine, or -dir. The temporary one is
removed if all is well. The exit code is 1 if a check fails.`

func newTypeTestCommand() *cobra.Command {
	o := &typeTestOptions{wait: units.Span(5 * time.Minute)}
	cmd := &cobra.Command{
		Use: "test NAME", Short: "Run the sample of a job type on the farm, and check what it makes", Long: typeTestLong,
		Example: "  qb type test povray\n  qb type test -dir /show/tmp/try -wait 20m -param Blender=/opt/blender/blender blender",
		Args:    commandline.WantArgs(1, 1, "job type"),
		RunE:    func(cmd *cobra.Command, words []string) error { return o.run(cmd, words[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&o.folder, "dir", "", "make this `FOLDER` and retain it; it may be there, empty (default: a temporary one)")
	f.Var(&o.wait, "wait", "kill the jobs after this `TIME`, such as 90s or 1h")
	f.StringArrayVar(&o.sub.parameters, "param", nil, "give a parameter another value than the sample, `NAME=VALUE`; repeatable")
	for _, name := range []string{"priority", "cluster", "account", "restrictions", "pathmap"} {
		attributeOption(submitOption).bind(f, facts.AttributeNamed(name))
	}
	bindRepeat(cmd)
	return cmd
}

func (o *typeTestOptions) run(cmd *cobra.Command, name string) error {
	given, err := namedValues(o.sub.parameters)
	if err != nil {
		return err
	}
	if o.wait <= 0 {
		return api.Errorf(api.KindUsage, "-wait %s: a test needs a time, such as 5m", o.wait)
	}
	c := connect(cmd)
	t, err := typeWithSample(cmd, c, name)
	if err != nil {
		return err
	}
	folder, err := o.newFolder(t)
	if err != nil {
		return cmp.Or(o.tidy(folder), error(api.Errorf(api.KindInvalid, "%v", err)))
	}
	k := &typeChecks{out: cmd.OutOrStdout(), folder: folder}
	jobs, err := o.submit(cmd, c, t, given, folder)
	if err != nil {
		return cmp.Or(o.tidy(folder), err)
	}
	if err := o.await(cmd, c, jobs, k); err != nil {
		return err
	}
	if err := k.files(t.Sample); err != nil {
		return err
	}
	if k.wrong > 0 {
		return api.Errorf(api.KindConflict, "the test of the job type %s found %d of %d checks wrong; qbout %d shows the output of the job, and its files are in %s",
			t.Name, k.wrong, k.done, jobs[len(jobs)-1].Job, output.Escape(folder))
	}
	return o.tidy(folder)
}

// typeWithSample asks for a job type with its sample, and checks that sample: it will be written to disk.
func typeWithSample(cmd *cobra.Command, c *client, name string) (api.JobType, error) {
	t, err := call[api.JobType](cmd.Context(), c, api.GetJobType, api.Params{"type": name, "sample": "true"}, nil)
	switch {
	case err != nil:
		return t, err
	case t.Sample == nil || t.Template == nil:
		return t, api.Errorf(api.KindUnavailable, "the supervisor is older than this command, and sends no sample")
	}
	if err := t.Sample.Check(); err != nil {
		return t, api.Errorf(api.KindInvalid, "the sample of the job type %s: %v", t.Name, err)
	}
	return t, nil
}

// newFolder writes the files of the sample into a new folder.
func (o *typeTestOptions) newFolder(t api.JobType) (folder string, err error) {
	if o.folder == "" {
		folder, err = os.MkdirTemp("", "qb-type-"+t.Name+"-")
	} else if folder, err = filepath.Abs(o.folder); err == nil {
		err = emptyFolder(folder)
	}
	if err != nil {
		return "", err // what is there is not removed
	}
	return folder, writeSample(folder, t.Sample)
}

// emptyFolder makes a folder, unless it is there and empty.
func emptyFolder(folder string) error {
	err := os.Mkdir(folder, 0o777)
	if err == nil {
		return nil
	}
	entries, read := os.ReadDir(folder)
	if read != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty; name a new folder, as nothing is written over", output.Escape(folder))
	}
	return nil
}

// writeSample writes the files that a sample needs, and the folders of the results.
func writeSample(folder string, s *api.JobTypeSample) error {
	root, err := os.OpenRoot(folder) // whatever a supervisor names, nothing outside is written
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return err
		}
		_, err = f.Write(s.Files[name])
		if err := cmp.Or(f.Close(), err); err != nil {
			return err
		}
	}
	for _, e := range s.Expected {
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(e.Name)), 0o777); err != nil {
			return err
		}
	}
	return nil
}

// tidy removes a temporary folder.
func (o *typeTestOptions) tidy(folder string) error {
	if o.folder != "" {
		return nil
	}
	return os.RemoveAll(folder)
}

func (o *typeTestOptions) submit(cmd *cobra.Command, c *client, t api.JobType, given map[string]string,
	folder string) ([]api.OpenJDJob, error) {
	values := maps.Clone(t.Sample.Values)
	if values == nil {
		values = map[string]string{}
	}
	maps.Copy(values, given)
	values, err := joinedValues(t, values, folder)
	if err != nil {
		return nil, err
	}
	reply, err := o.sub.sendOpenJD(cmd, c, &api.OpenJDRequest{Type: t.Name, Values: values})
	if err != nil {
		return nil, err
	}
	remark(cmd, reply.Remarks)
	for _, j := range reply.Jobs {
		fmt.Fprintf(cmd.OutOrStdout(), "job %d, %s, in %s\n", j.Job, output.Escape(j.Step), output.Escape(folder))
	}
	return reply.Jobs, nil
}

// await waits until the jobs have ended, and kills what runs when the time is over.
func (o *typeTestOptions) await(cmd *cobra.Command, c *client, jobs []api.OpenJDJob, k *typeChecks) error {
	ctx := cmd.Context()
	defer cmd.SetContext(ctx)
	bounded, cancel := context.WithTimeoutCause(ctx, o.wait.Std(), errWaited)
	defer cancel()
	cmd.SetContext(bounded)
	for _, j := range jobs {
		err := waitOn(cmd, c, j.Job)
		switch {
		case ctx.Err() != nil:
			return err
		case bounded.Err() != nil:
			_, err = c.Order(ctx, j.Job, "", "kill")
			if err != nil && api.Refusal(err).Kind != api.KindConflict { // it may have ended meanwhile
				return err
			}
			k.say(fmt.Sprintf("job %d has not ended after %s, and was killed", j.Job, o.wait), false)
		case err != nil && api.Refusal(err).Kind != api.KindConflict:
			return err
		case err != nil:
			k.say(err.Error(), false)
		default:
			k.say(fmt.Sprintf("job %d is complete", j.Job), true)
		}
	}
	return nil
}

// mostFound bounds the files that a test looks at.
const mostFound = 1000

// found are the files below a folder, by their names with slashes.
func found(folder string) (names []string, err error) {
	err = fs.WalkDir(os.DirFS(folder), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !e.IsDir() {
			names = append(names, name)
		}
		if len(names) > mostFound {
			return fmt.Errorf("%s has more than %d files", output.Escape(folder), mostFound)
		}
		return nil
	})
	return names, err
}
