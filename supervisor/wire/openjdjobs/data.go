package openjdjobs

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"qb/api"
	"qb/openjd"
)

// Variable carries what a session runs to the host, in letters, digits, -, _ and . alone, which no path map and no
// token changes.
const Variable = "QB_OPENJD"

// PathsVariable has the values of PATH parameters, a line each: by it the farm sees which paths a host has to map.
const PathsVariable = "QB_OPENJD_PATHS"

// mostData bounds what a host unpacks.
const mostData = 32 << 20

// Data is what a session needs of a job: the documents as they were submitted, and the values of the parameters.
type Data struct {
	Version   int                  `json:"version"`
	Documents []api.OpenJDDocument `json:"documents"` // the job template, then environment templates
	Values    map[string]string    `json:"values"`
	Part      `json:"-"`
}

// Part is what differs from step to step.
type Part struct {
	Step  string `json:"step"`
	Chunk int64  `json:"chunk,omitempty"` // the most values of one, if it is not that of the template
}

// pack makes what the values of Variable of all steps begin with.
func (d *Data) pack() (string, error) {
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
	if most := api.MaxWord - mostPart; len(value) > most || len(text) > mostData {
		return "", api.Errorf(api.KindInvalid,
			"the template, its environment templates and values have %d bytes, compressed %d, and a job carries at most %d and %d of them: put large embedded files into files that hosts see",
			len(text), len(value), mostData, most)
	}
	return value, nil
}

// mostPart is more than Variable, a dot and a part take: a step's name has at most 512 characters.
const mostPart = 6 << 10

// value makes the value of Variable for a step.
func (p Part) value(packed string) (string, error) {
	text, err := json.Marshal(p)
	return packed + "." + base64.RawURLEncoding.EncodeToString(text), err
}

// Unpack reads the value of Variable.
func Unpack(value string) (*Data, error) {
	packed, part, found := strings.Cut(value, ".")
	if !found {
		return nil, errors.New("the step is missing")
	}
	in, err := gzip.NewReader(base64.NewDecoder(base64.RawURLEncoding, strings.NewReader(packed)))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, mostData+1))
	if err != nil {
		return nil, err
	}
	step, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return nil, err
	}
	d := &Data{}
	switch err := json.Unmarshal(text, d); {
	case len(text) > mostData:
		return nil, fmt.Errorf("the value unpacks to more than %d bytes", mostData)
	case err != nil:
		return nil, err
	case d.Version != 1:
		return nil, fmt.Errorf("the version is %d, and this qb knows 1; install the qb here that submitted the job",
			d.Version)
	case len(d.Documents) == 0:
		return nil, errors.New("the template is missing")
	}
	return d, json.Unmarshal(step, &d.Part)
}

// Job makes the job that was submitted.
func (d *Data) Job() (*openjd.Job, error) {
	s := openjd.Submission{Values: d.Values, ChunkSizes: map[string]int64{d.Step: d.Chunk}}
	var template *openjd.JobTemplate
	for n, text := range d.Documents {
		document, err := read(text)
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

// read reads a template of either kind.
func read(d api.OpenJDDocument) (openjd.Document, error) {
	syntax := openjd.YAML
	if d.Syntax == "json" {
		syntax = openjd.JSON
	}
	return openjd.Read([]byte(d.Text), syntax, openjd.Extensions())
}
