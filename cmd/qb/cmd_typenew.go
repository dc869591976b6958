package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/supervisor/job/facts"
)

const typeNewLong = `Write the folder of a job type, NAME, into the current folder: template.yaml, type.json and a sample, as those of another
type of the farm. Change them, check the template with qb openjd check, put the folder into supervisor_types, and run its
sample with qb type test NAME. Nothing is written over.`

func newTypeNewCommand() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use: "new NAME", Short: "Write the folder of a job type, to be changed", Long: typeNewLong,
		Example: "  qb type new comp\n  qb type new -from blender blender4",
		Args:    commandline.WantArgs(1, 1, "job type"),
		RunE: func(cmd *cobra.Command, words []string) error {
			return writeType(cmd, words[0], from)
		},
	}
	cmd.Flags().StringVar(&from, "from", "command", "begin with the files of this `TYPE` of the farm")
	return cmd
}

func writeType(cmd *cobra.Command, name, from string) error {
	valid := regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`).MatchString(name)
	if !valid || slices.Contains(facts.JobTypes, name) {
		return api.Errorf(api.KindUsage, "%s is no name of a job type: write up to 64 letters, digits and _.-, the first one a letter, and not %s",
			output.Escape(name), facts.JobTypes)
	}
	t, err := typeWithSample(cmd, connect(cmd), from)
	if err != nil {
		return err
	}
	if err := writeTypeFolder(name, t); err != nil {
		return api.Errorf(api.KindInvalid, "%v", err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is as the job type %s; change it, and put it into supervisor_types\n",
		name, t.Name)
	return err
}

// writeTypeFolder writes a type into a new folder, which is removed if that fails.
func writeTypeFolder(name string, t api.JobType) (err error) {
	sample := *t.Sample
	sample.Files = nil
	expected, err := json.MarshalIndent(sample, "", "  ")
	if err != nil {
		return err
	}
	text := t.Template.Text
	about := t
	about.Name = ""
	about.Version = "1"
	about.Site = false
	about.Template = nil
	about.Sample = nil
	said, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return err
	}
	if err := os.Mkdir(name, 0o777); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already, and nothing is written over; give another name", name)
	} else if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(name) // the failure is more important
		}
	}()
	if err := os.Mkdir(filepath.Join(name, "sample"), 0o777); err != nil {
		return err
	}
	files := &api.JobTypeSample{Files: map[string][]byte{"template.yaml": []byte(text), "type.json": append(said, '\n')}}
	if err := writeSample(name, files); err != nil {
		return err
	}
	if err := writeSample(filepath.Join(name, "sample"), &api.JobTypeSample{Files: t.Sample.Files}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(name, "sample", "sample.json"), append(expected, '\n'), 0o666)
}
