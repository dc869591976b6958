package openjdjobs

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"sync"

	"qb/api"
	"qb/openjd"
)

//go:embed types
var builtin embed.FS

// most bounds the types of a site, and the file type.json of each.
const (
	mostTypes = 200
	mostFile  = 64 << 10
)

// typeName is what a folder of a type may be called: it is a word of qbsub.
var typeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`) })

// reserved are the values of the attribute type that are none of these.
var reserved = []string{"cmdline", "cmdrange", "loadonce"}

// FindType reads a type. Those of the site, in a folder or "", come before the built-in ones of the same name.
func FindType(site, wanted string) (api.JobType, error) {
	if !typeName().MatchString(wanted) || slices.Contains(reserved, wanted) {
		return api.JobType{}, api.Errorf(api.KindNotFound, "there is no job type %q; qb type list lists them", wanted)
	}
	if site != "" {
		t, err := readType(os.DirFS(site), wanted)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Site = true
			return t, ofType(wanted, err)
		}
	}
	own, err := fs.Sub(builtin, "types")
	if err != nil {
		return api.JobType{}, err
	}
	t, err := readType(own, wanted)
	if errors.Is(err, fs.ErrNotExist) {
		return t, api.Errorf(api.KindNotFound, "there is no job type %q; qb type list lists them", wanted)
	}
	return t, ofType(wanted, err)
}

func ofType(wanted string, err error) error {
	if err == nil {
		return nil
	}
	return api.Errorf(api.KindUnavailable, "the job type %s cannot be read: %v; ask an admin of the farm", wanted, err)
}

// Types reads all types, by name. Types that cannot be read are among the errors.
func Types(site string) (types []api.JobType, errs []error) {
	names := map[string]bool{}
	folders, err := fs.ReadDir(builtin, "types")
	errs = append(errs, err)
	if site != "" {
		var more []fs.DirEntry
		more, err = os.ReadDir(site)
		errs = append(errs, err)
		if len(more) > mostTypes {
			errs = append(errs, fmt.Errorf("%s has more than %d entries; the others are left out", site, mostTypes))
			more = more[:mostTypes]
		}
		folders = append(folders, more...)
	}
	for _, f := range folders {
		if !f.IsDir() || names[f.Name()] || !typeName().MatchString(f.Name()) {
			continue
		}
		names[f.Name()] = true
		t, err := FindType(site, f.Name())
		if errs = append(errs, err); err == nil {
			types = append(types, t)
		}
	}
	slices.SortFunc(types, func(a, b api.JobType) int { return cmp.Compare(a.Name, b.Name) })
	return types, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// readType reads the folder of a type.
func readType(folder fs.FS, wanted string) (t api.JobType, err error) {
	text, err := readFile(folder, wanted+"/type.json", mostFile)
	if err != nil {
		return t, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return t, fmt.Errorf("type.json: %w", err)
	}
	if t.Sample != nil || t.Template != nil {
		return t, errors.New("type.json: the template and the sample are files beside it; leave out the members")
	}
	t.Name = wanted
	text, err = readFile(folder, wanted+"/template.yaml", openjd.MaxDocument)
	if err != nil {
		return t, fmt.Errorf("template.yaml: %v", err) // not as if there were no such type
	}
	t.Template = &api.OpenJDDocument{Text: string(text), Syntax: "yaml"}
	return t, checkType(t)
}

// readFile reads at most so many bytes.
func readFile(folder fs.FS, path string, most int64) ([]byte, error) {
	if info, err := fs.Stat(folder, path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path) // to open a pipe would wait
	}
	f, err := folder.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return text, err
}

// checkType refuses a type that cannot work: the parameters that it names must be there.
func checkType(t api.JobType) error {
	template, err := openjd.ReadJob([]byte(t.Template.Text), openjd.YAML)
	if err != nil {
		return fmt.Errorf("template.yaml: %w", err)
	}
	if t.Version == "" {
		return errors.New("type.json: the version is missing")
	}
	for member, wanted := range map[string]string{"file": t.File, "range": t.Range} {
		found := slices.ContainsFunc(template.Parameters, func(p *openjd.Parameter) bool { return p.Name == wanted })
		if wanted != "" && !found {
			return fmt.Errorf("type.json: %s is %q, and the template has no such parameter", member, wanted)
		}
	}
	return nil
}
