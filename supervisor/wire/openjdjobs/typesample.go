package openjdjobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"qb/api"
)

// sampleFile says what is expected of a sample; all other files of its folder are what the job needs.
const sampleFile = "sample.json"

// SampleOf reads the sample of a type, which FindType has found.
func SampleOf(site string, t api.JobType) (*api.JobTypeSample, error) {
	types, err := fs.Sub(builtin, "types")
	if t.Site {
		types = os.DirFS(site)
	}
	if err != nil {
		return nil, err
	}
	s, err := readSample(types, t.Name+"/sample")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, api.Errorf(api.KindNotFound, "the job type %s has no sample: there is no file sample/%s in its folder",
			t.Name, sampleFile)
	case err != nil:
		return nil, api.Errorf(api.KindUnavailable, "the sample of the job type %s cannot be read: %v; ask an admin of the farm",
			t.Name, err)
	}
	return s, nil
}

func readSample(types fs.FS, folder string) (*api.JobTypeSample, error) {
	text, err := readFile(types, folder+"/"+sampleFile, mostFile)
	if err != nil {
		return nil, err
	}
	s := &api.JobTypeSample{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("%s: %w", sampleFile, err)
	}
	if s.Files != nil {
		return nil, fmt.Errorf("%s: files are those beside it; leave out the member", sampleFile)
	}
	entries, err := fs.ReadDir(types, folder)
	if err != nil {
		return nil, err
	}
	if len(entries) > api.SampleFiles+1 {
		return nil, fmt.Errorf("the folder sample has %d files, and %d are allowed", len(entries)-1, api.SampleFiles)
	}
	s.Files = map[string][]byte{}
	left := int64(api.SampleBytes)
	for _, e := range entries {
		if !e.Type().IsRegular() { // a link could lead to any file of the supervisor's machine
			return nil, fmt.Errorf("%q is not a regular file", e.Name())
		}
		if e.Name() == sampleFile {
			continue
		}
		content, err := readFile(types, folder+"/"+e.Name(), left)
		if err != nil {
			return nil, fmt.Errorf("%v (the sample may have %d bytes)", err, api.SampleBytes)
		}
		left -= int64(len(content))
		s.Files[e.Name()] = content
	}
	return s, s.Check()
}
