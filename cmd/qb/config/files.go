package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"qb/api"
	"qb/internal/statedir"
	"qb/internal/units"
)

// hereFile is the file of the current folder. It may come from the author of a project that was unpacked there, so it
// has no reach.
const hereFile = "qb.conf"

// ofProjects are the settings that the current folder's file may have, each because of what the worst value comes to.
// All others, new ones too, are for files that this user or root has written.
var ofProjects = []struct {
	why  string
	keys []string
}{
	{"a default of qbsub that its options override and the supervisor checks against what the user may; it sends nothing of this machine's",
		[]string{"client_priority", "client_cluster", "client_account", "client_restrictions"}},
	{"how many items at a time a worker that is started in the folder takes; they are still those of users whom it serves",
		[]string{"worker_cpus"}},
	{"words by which jobs choose a worker that is started in the folder; they are compared with texts, and name no program, file or user",
		[]string{"worker_cluster", "worker_groups", "worker_properties", "worker_job_types", "worker_flags"}},
}

// mayBeOfProject says whether the current folder's file may have the setting.
func mayBeOfProject(key string) bool {
	for _, some := range ofProjects {
		if slices.Contains(some.keys, key) {
			return true
		}
	}
	return false
}

const maxConfig = 1 << 20

// readFiles reads the file that -conf or QB_CONF names; without, the machine's, the user's and the current folder's,
// of which the later wins. Of those a file that others may write is ignored.
func (c *Config) readFiles(from Source) error {
	name := cmp.Or(from.File, os.Getenv("QB_CONF"))
	if name != "" {
		c.Named = true
		return c.readFile(name)
	}
	places := []string{"/etc/qb.conf"}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "qb", "qb.conf"))
	}
	for _, name := range append(places, hereFile) {
		text, err := readPrivate(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			fmt.Fprintf(from.Warn, "%s: ignoring %s: %v; -conf %s uses it all the same\n", from.Program, shownFile(name), err,
				name)
			continue
		}
		if name == hereFile {
			err = c.parseHere(from, text)
		} else {
			err = c.parse(name, text)
		}
		if err != nil && name == hereFile && from.Client {
			fmt.Fprintf(from.Warn, "%s: ignoring ./%v\n", from.Program, err)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func shownFile(name string) string {
	if name == hereFile {
		return "./" + hereFile
	}
	return name
}

// parseHere takes what the current folder's file may set, and says what it may not.
func (c *Config) parseHere(by Source, text string) error {
	here := &Config{Keys: defaultKeys(), Origins: map[string]string{}}
	if err := here.parse(hereFile, text); err != nil {
		return err
	}
	c.File = hereFile
	from := here.settings()
	var ignored []string
	for n, s := range c.settings() {
		switch origin := here.Origins[s.key]; {
		case origin == "":
		case !mayBeOfProject(s.key):
			ignored = append(ignored, s.key+" ("+origin+")")
		default:
			s.value.Set(from[n].value)
			c.Origins[s.key] = origin
		}
	}
	if len(ignored) > 0 {
		fmt.Fprintf(by.Warn, "%s: ignoring %s: %s of the current folder may set only client_priority,"+
			" client_cluster, client_account, client_restrictions and a worker's slots, cluster, groups, properties,"+
			" job types and flags; write other settings in ~/.config/qb/qb.conf or /etc/qb.conf,"+
			" or name the file: -conf %s or QB_CONF\n",
			by.Program, units.Few(ignored), hereFile, hereFile)
	}
	return nil
}

// readPrivate reads a file that only root and this user can have written. It looks at the open file and folder, not at
// their names, which may mean something else a moment later.
func readPrivate(name string) (string, error) {
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return "", unreadable(err)
	}
	defer dir.Close()
	f, err := openIn(dir, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for _, one := range []struct {
		what string
		file *os.File
	}{{"the folder of the file", dir}, {"the file", f}} {
		why, err := statedir.Exposed(one.file)
		if err != nil {
			return "", err
		}
		if why != "" {
			return "", fmt.Errorf("%s %s", one.what, why)
		}
	}
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("the file is not a regular file")
	}
	return readConfig(f)
}

// unreadable takes a folder that may not be entered for one without the file.
func unreadable(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fs.ErrNotExist
	}
	return err
}

func (c *Config) readFile(name string) error {
	text, err := readNamed(name)
	if err != nil {
		return err
	}
	return c.parse(name, text)
}

// readNamed reads a file that a person has named.
func readNamed(name string) (string, error) {
	f, err := statedir.OpenNamed(name)
	if err != nil {
		return "", api.Errorf(api.KindInvalid, "configuration: %v", err)
	}
	defer f.Close()
	text, err := readConfig(f)
	if err != nil {
		return "", api.Errorf(api.KindInvalid, "configuration %s: %v", name, err)
	}
	return text, nil
}

func readConfig(f *os.File) (string, error) {
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("longer than %d bytes", maxConfig)
	}
	return string(text), err
}
