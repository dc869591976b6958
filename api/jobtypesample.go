package api

import (
	"fmt"
	"io/fs"
	"strings"
	"unicode"
)

// What a sample of a job type may have.
const (
	SampleBytes = 4 << 20 // of all files
	SampleFiles = 100     // and as many expected ones
)

// JobTypeSample is a small job of a type, and what comes of it.
type JobTypeSample struct {
	Values   map[string]string `json:"values" doc:"Of the parameters. Relative paths are of the folder in which the files are."`
	Expected []JobTypeResult   `json:"expected" doc:"The files that the job makes, all of them."`
	Differ   bool              `json:"differ,omitempty" doc:"No two of the expected files are equal, or pictures of equal pixels."`
	Files    map[string][]byte `json:"files,omitempty" doc:"The files that it needs, by name."`
}

// JobTypeResult is a file that a sample's job makes.
type JobTypeResult struct {
	Name     string  `json:"name" doc:"Relative, with slashes."`
	Content  *string `json:"content,omitempty" doc:"The whole text."`
	Width    int     `json:"width,omitempty" doc:"Of a picture in PNG, JPEG or GIF, or of a film in MP4 or MOV."`
	Height   int     `json:"height,omitempty"`
	Colours  int     `json:"colours,omitempty" doc:"The picture has so many different colours at least: it is not empty."`
	Pictures int     `json:"pictures,omitempty" doc:"Of the film."`
}

// Check refuses a sample that could write or read outside of its folder, or that expects nothing.
func (s *JobTypeSample) Check() error {
	bytes := 0
	for name, content := range s.Files {
		bytes += len(content)
		if err := sampleName(name); err != nil || strings.Contains(name, "/") {
			return fmt.Errorf("%q is no name of a file of a sample: write a plain name without folders, which begins with no dot", name)
		}
	}
	if len(s.Files) > SampleFiles || bytes > SampleBytes {
		return fmt.Errorf("the sample has %d files with %d bytes, and %d files with %d bytes are allowed",
			len(s.Files), bytes, SampleFiles, SampleBytes)
	}
	if len(s.Expected) == 0 || len(s.Expected) > SampleFiles {
		return fmt.Errorf("the sample expects %d files; from 1 to %d are possible", len(s.Expected), SampleFiles)
	}
	names := map[string]bool{}
	for _, e := range s.Expected {
		if err := e.check(); err != nil {
			return err
		}
		if _, given := s.Files[e.Name]; given || names[e.Name] {
			return fmt.Errorf("%q is expected, and is a file of the sample or is expected twice", e.Name)
		}
		names[e.Name] = true
	}
	return nil
}

func (e *JobTypeResult) check() error {
	picture := e.Width > 0 && e.Height > 0
	switch {
	case sampleName(e.Name) != nil:
		return sampleName(e.Name)
	case e.Width < 0 || e.Height < 0 || e.Colours < 0 || e.Pictures < 0:
		return fmt.Errorf("%q: width, height, colours and pictures are not negative", e.Name)
	case picture == (e.Content != nil):
		return fmt.Errorf("%q: write what it has: either content, or width and height", e.Name)
	case !picture && (e.Colours > 0 || e.Pictures > 0):
		return fmt.Errorf("%q: colours and pictures are of pictures and films, which have width and height", e.Name)
	}
	return nil
}

// sampleName refuses what leads out of a folder, here or on another system, and what a terminal would take for orders.
func sampleName(name string) error {
	bad := func(r rune) bool { return r == '\\' || r == unicode.ReplacementChar || !unicode.IsPrint(r) }
	drive := len(name) > 1 && name[1] == ':'
	if len(name) > 255 || !fs.ValidPath(name) || strings.ContainsFunc(name, bad) || drive ||
		strings.HasPrefix(name, ".") || strings.Contains(name, "/.") {
		return fmt.Errorf("%q is no relative name of a file: write names with slashes, none of which begins with a dot", name)
	}
	return nil
}
