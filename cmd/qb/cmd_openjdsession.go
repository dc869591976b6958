//go:build !client

package main

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/openjd"
	"qb/openjd/session"
)

func newOpenJDSessionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "session", Short: "Run the task of an item, in a session of its own", Hidden: true,
		Long: "This is the command of the items of qb openjd submit. It runs the task whose number is in QB_FRAME_NUMBER.",
		Args: commandline.WantArgs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runItemSession(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

// unpackOpenJD reads the value of openjdVariable.
func unpackOpenJD(value string) (*openjdData, error) {
	in, err := gzip.NewReader(base64.NewDecoder(base64.RawURLEncoding, strings.NewReader(value)))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, mostOpenJDData+1))
	if err != nil {
		return nil, err
	}
	d := &openjdData{}
	switch err := json.Unmarshal(text, d); {
	case len(text) > mostOpenJDData:
		return nil, fmt.Errorf("the value unpacks to more than %d bytes", mostOpenJDData)
	case err != nil:
		return nil, err
	case d.Version != 1:
		return nil, fmt.Errorf("the version is %d, and this qb knows 1; install the qb here that submitted the job",
			d.Version)
	case len(d.Documents) == 0:
		return nil, errors.New("the template is missing")
	}
	return d, nil
}

// job makes the job that was submitted.
func (d *openjdData) job() (*openjd.Job, error) {
	s := openjd.Submission{Values: d.Values}
	var template *openjd.JobTemplate
	for n, text := range d.Documents {
		document, err := openjd.Read([]byte(text.Text), text.Syntax, openjd.Extensions())
		switch {
		case err != nil:
			return nil, err
		case n == 0 && document.Job != nil:
			template = document.Job
		case n > 0 && document.Environment != nil:
			s.Environments = append(s.Environments, document.Environment)
		default:
			return nil, fmt.Errorf("document %d is a template of the other kind", n)
		}
	}
	return openjd.CreateJob(template, s)
}

// ofItem is the job, the step and the task of the item that this process is.
func ofItem() (*openjd.Job, *openjd.Step, []openjd.TaskValue, error) {
	value := os.Getenv(openjdVariable)
	if value == "" {
		return nil, nil, nil, api.Errorf(api.KindUsage, "%s is not set: this command is for items of qb openjd submit",
			openjdVariable)
	}
	d, err := unpackOpenJD(value)
	if err != nil {
		return nil, nil, nil, api.Errorf(api.KindInvalid, "%s: %v", openjdVariable, err)
	}
	j, err := d.job()
	if err != nil {
		return nil, nil, nil, inFile(openjdVariable, err)
	}
	step, err := stepOf(j, d.Step)
	if err != nil {
		return nil, nil, nil, err
	}
	n, err := strconv.ParseInt(os.Getenv("QB_FRAME_NUMBER"), 10, 64)
	if err != nil || n < 0 || n >= step.Space.Len() {
		return nil, nil, nil, api.Errorf(api.KindInvalid, "QB_FRAME_NUMBER %q is not the number of a task: step %s has 0 to %d",
			os.Getenv("QB_FRAME_NUMBER"), step.Name, step.Space.Len()-1)
	}
	return j, step, step.Space.At(n), nil
}

// runItemSession runs the task of an item. After TERM the action is canceled; what follows it, the leaving of the
// environments, goes on until KILL.
func runItemSession(ctx context.Context, out io.Writer) error {
	j, step, task, err := ofItem()
	if err != nil {
		return err
	}
	environ := slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, openjdVariable+"=") })
	grace, _ := strconv.ParseFloat(os.Getenv("QB_KILL_GRACE"), 64) // an older worker does not say it
	s, err := session.New(j, session.Config{
		Environ: environ, Notice: time.Duration(grace * float64(time.Second) / 2),
		Log: func(line string) { fmt.Fprintln(out, line) },
	})
	if err != nil {
		return err
	}
	_, failed := runTasks(ctx, s, j, step, slices.Values([][]openjd.TaskValue{task}))
	closed := s.Close(context.WithoutCancel(ctx))
	return endOf(cmp.Or(failed, closed))
}

// endOf gives the end of an action its exit code.
func endOf(err error) error {
	var action *session.ActionError
	if errors.As(err, &action) && action.Cause == session.Failed && action.Code > 0 {
		return actionEnd{err, action.Code}
	}
	return err
}
