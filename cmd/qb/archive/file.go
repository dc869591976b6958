package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/statedir"
)

const maxFile = 16 << 20 // bytes; a range alone may have 1 MiB

// Submission is a job of a file, as it can be submitted.
type Submission struct {
	api.SubmitRequest
	Remarks []string // what the file says that has no counterpart here
}

// ReadFile reads a job. Group, parent and user are those of the farm that it came from, and are left out.
func ReadFile(name string) (Submission, error) {
	file, err := os.Open(name)
	if err != nil {
		return Submission{}, api.Errorf(api.KindUsage, "%v", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return Submission{}, fmt.Errorf("reading %s: %w", name, err)
	}
	s, err := Read(data)
	if err != nil {
		return s, api.Errorf(api.KindInvalid, "%s: %v", output.Escape(name), err)
	}
	return s, nil
}

// Read reads a job in either form.
func Read(data []byte) (s Submission, err error) {
	if len(data) > maxFile {
		return s, fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	switch {
	case bytes.HasPrefix(data, []byte("<")):
		s, err = readXML(data)
	case bytes.HasPrefix(data, []byte("{")):
		s.SubmitRequest, err = readJSON(data)
	default:
		return s, errors.New("it is no job archive: neither JSON of qb's nor XML of Qube's (.xja); its binary .qja is not read")
	}
	s.PGrp, s.PID, s.User = 0, 0, ""
	return s, err
}

func readJSON(data []byte) (api.SubmitRequest, error) {
	var a struct {
		Format     string            `json:"format"`
		Version    int               `json:"version"`
		Submission api.SubmitRequest `json:"submission"`
		Job        json.RawMessage   `json:"job"` // its state then, which no submission takes
	}
	if err := api.CheckJSON(data); err != nil {
		return a.Submission, err
	}
	if !json.Valid(data) && json.NewDecoder(bytes.NewReader(data)).Decode(new(json.RawMessage)) == nil {
		return a.Submission, errors.New("something follows the archive; a file has one job")
	}
	if err := json.Unmarshal(data, &a); err != nil {
		return a.Submission, fmt.Errorf("it cannot be read as JSON: %w", api.DecodeError(err))
	}
	switch {
	case a.Format != api.ArchiveFormat:
		return a.Submission, fmt.Errorf("it is no archive of a job: format is %q and not %q", a.Format, api.ArchiveFormat)
	case a.Version != api.ArchiveVersion:
		return a.Submission, fmt.Errorf("it has version %d; this qb reads version %d", a.Version, api.ArchiveVersion)
	case len(a.Submission.Command) == 0:
		return a.Submission, errors.New("it has no command")
	}
	return a.Submission, api.CheckExact(data, reflect.TypeOf(a)) // the farm refuses the same
}

// Bytes is the archive as a file has it.
func Bytes(a api.JobArchive) ([]byte, error) {
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

// WriteFile writes a file that only its owner reads: commands and environments are in it.
func WriteFile(name string, a api.JobArchive) error {
	data, err := Bytes(a)
	if err != nil {
		return err
	}
	if err := statedir.ReplaceWith(name, 0o600, data); err != nil {
		return api.Errorf(api.KindUsage, "%v", err)
	}
	return nil
}
