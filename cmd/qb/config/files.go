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
	"strings"

	"golang.org/x/sys/unix"

	"qb/api"
)

// hereFile is the file of the current folder. Whoever packed a project that is unpacked there wrote it, so it has no reach.
const hereFile = "qb.conf"

// ofProjects are the settings that the current folder's file may have, each because of what the worst value comes to. All others,
// new ones too, are for files that this user or root has written.
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
			fmt.Fprintf(from.Warn, "%s: ignoring %s: %v; -conf %s uses it all the same\n", from.Program, shownFile(name), err, name)
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
		fmt.Fprintf(by.Warn, "%s: ignoring %s: the current folder's file may set defaults of qbsub (not client_job_flags), the slots of a worker and words about it;"+
			" write all else in ~/.config/qb/qb.conf or /etc/qb.conf, or name the file: -conf %s or QB_CONF\n",
			by.Program, strings.Join(ignored, ", "), hereFile)
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
	flags := unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	if name == hereFile {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Openat(int(dir.Fd()), filepath.Base(name), flags, 0)
	if err != nil {
		if errors.Is(err, unix.ELOOP) {
			return "", errors.New("it is a link")
		}
		return "", unreadable(err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	for _, one := range []struct {
		what string
		file *os.File
	}{{"its folder", dir}, {"it", f}} {
		info, err := one.file.Stat()
		switch {
		case err != nil:
			return "", err
		case !ownedByUsOrRoot(info):
			return "", fmt.Errorf("%s belongs to another user", one.what)
		case info.Mode().Perm()&0o022 != 0:
			return "", fmt.Errorf("%s can be written by others (mode %04o)", one.what, info.Mode().Perm())
		case one.file == f && !info.Mode().IsRegular():
			return "", errors.New("it is not a regular file")
		}
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
	f, err := os.Open(name)
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
