package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/internal/statedir"
)

// A file with a job is never trusted: its size and depth are bounded, and a file that declares entities is refused.

const maxArchive = 16 << 20 // bytes; a range alone may have 1 MiB

// archivedJob is a job of a file, as it can be submitted.
type archivedJob struct {
	api.SubmitRequest
	Remarks []string // what the file says that has no counterpart here
}

// readArchive reads a job. It leaves out group, parent and user, because they belong to the farm that the job came
// from.
func readArchive(name string) (archivedJob, error) {
	file, err := statedir.OpenNamed(name)
	if err != nil {
		return archivedJob{}, api.Errorf(api.KindUsage, "%v", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxArchive+1))
	if err != nil {
		return archivedJob{}, fmt.Errorf("reading %s: %w", name, err)
	}
	s, err := parseArchive(data)
	if err != nil {
		return s, api.Errorf(api.KindInvalid, "%s: %v", output.Escape(name), err)
	}
	return s, nil
}

// parseArchive reads a job in either form.
func parseArchive(data []byte) (s archivedJob, err error) {
	if len(data) > maxArchive {
		return s, fmt.Errorf("the file is larger than %d MiB", maxArchive>>20)
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	switch {
	case bytes.HasPrefix(data, []byte("<")):
		s, err = parseXJA(data)
	case bytes.HasPrefix(data, []byte("{")):
		s, err = parseArchiveJSON(data)
	default:
		return s, errors.New("the file is no job archive: neither JSON of qb's nor XML of Qube's (.xja); Qube's binary .qja is not read")
	}
	s.PGrp = 0
	s.PID = 0
	s.User = ""
	return s, err
}

func parseArchiveJSON(data []byte) (s archivedJob, err error) {
	var a struct {
		Format     string            `json:"format"`
		Version    int               `json:"version"`
		Submission api.SubmitRequest `json:"submission"`
		Job        json.RawMessage   `json:"job"` // its state then, which no submission takes
	}
	if err := api.CheckJSON(data); err != nil {
		return s, err
	}
	if !json.Valid(data) && json.NewDecoder(bytes.NewReader(data)).Decode(new(json.RawMessage)) == nil {
		return s, errors.New("something follows the archive; a file has one job")
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return s, fmt.Errorf("the file cannot be read as JSON: %w", api.DecodeError(err))
	}
	switch {
	case a.Format != api.ArchiveFormat:
		return s, fmt.Errorf("the file is no archive of a job: format is %q and not %q", a.Format, api.ArchiveFormat)
	case a.Version != api.ArchiveVersion:
		return s, fmt.Errorf("the archive has version %d; this qb reads version %d", a.Version, api.ArchiveVersion)
	case len(a.Submission.Command) == 0:
		return s, errors.New("the archive has no command")
	}
	s.SubmitRequest, s.Remarks = a.Submission, heldThen(a.Job)
	return s, api.CheckExact(data, reflect.TypeOf(a)) // the farm refuses the same
}

// heldThen tells of items that were held in a job that was not: a submission cannot say which.
func heldThen(job json.RawMessage) []string {
	var then struct {
		Status string `json:"status"`
		Items  struct {
			Blocked int `json:"blocked"`
		} `json:"items"`
	}
	if json.Unmarshal(job, &then) != nil || then.Items.Blocked == 0 || then.Status == "blocked" ||
		then.Status == "suspended" {
		return nil
	}
	return []string{fmt.Sprintf("items that were blocked when the file was written: %d; here they are pending, and qbblock JOB:ITEMS blocks them", then.Items.Blocked)}
}

// archiveBytes is the archive as a file has it.
func archiveBytes(a api.JobArchive) ([]byte, error) {
	if err := api.CheckText(a.Submission); err != nil {
		return nil, err
	}
	a.Format, a.Version = api.ArchiveFormat, api.ArchiveVersion
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(a); err != nil {
		return nil, fmt.Errorf("writing the archive: %w", err)
	}
	return text.Bytes(), nil
}

// writeArchive writes a file that only its owner reads: commands and environments are in it.
func writeArchive(name string, a api.JobArchive) error {
	data, err := archiveBytes(a)
	if err != nil {
		return err
	}
	if err := statedir.WriteNamed(name, 0o600, data); err != nil {
		return api.Errorf(api.KindUsage, "%v", err)
	}
	return nil
}
