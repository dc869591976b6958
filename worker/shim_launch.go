package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// locate finds the program as a shell would, in the item's own PATH, relative to its own directory. It
// may block on a file system that does not answer.
func locate(o *runOrder) (string, error) {
	info, err := os.Stat(o.Dir)
	switch {
	case errors.Is(err, fs.ErrPermission): // perhaps its owner may
	case err != nil:
		return "", fmt.Errorf("its working directory %s cannot be used: %w", o.Dir, bareError(err))
	case !info.IsDir():
		return "", fmt.Errorf("its working directory %s is not a directory", o.Dir)
	}
	name := o.Argv[0]
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(o.Dir, name)
		}
		return name, nil
	}
	search := ""
	for _, entry := range o.Env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			search = value
		}
	}
	var found string
	for _, dir := range filepath.SplitList(search) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(o.Dir, dir)
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || info.IsDir() {
			continue
		}
		if info.Mode()&0o111 != 0 {
			return path, nil
		}
		found = path
	}
	if found != "" {
		return found, nil // exec will say what is wrong with it
	}
	return "", fmt.Errorf("cannot start %q: no such program in its PATH, which is %s", name, search)
}

// bareError leaves out the path that the sentence around it names anyway.
func bareError(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// launchReason says what failed, with the system's own words and the likely cause.
func launchReason(path string, o *runOrder, err error) string {
	text := fmt.Sprintf("cannot start %s in %s: %v", path, o.Dir, err)
	switch {
	case errors.Is(err, syscall.ENOENT):
		if _, statErr := os.Stat(path); statErr == nil {
			if interpreter := shebang(path); interpreter != "" {
				return text + "; the script is there, but its interpreter " + interpreter + " is not"
			}
			return text + "; the file is there, but the loader it names is not"
		}
	case errors.Is(err, syscall.EACCES):
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return text + "; it is a directory"
		} else if statErr == nil && info.Mode()&0o111 == 0 {
			return text + "; the file is not executable (chmod +x)"
		}
		return text + "; the file, the directory or one on the way to them is closed to this user"
	case errors.Is(err, syscall.ENOEXEC):
		return text + "; it is neither a program for this machine nor a script that starts with #!"
	case errors.Is(err, syscall.E2BIG):
		size := 0
		for _, words := range [][]string{o.Argv, o.Env} {
			for _, word := range words {
				size += len(word) + 1
			}
		}
		return fmt.Sprintf("%s; command and environment take %s", text, Bytes(size))
	}
	return text
}

func shebang(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	line, _ := bufio.NewReaderSize(file, 256).ReadSlice('\n')
	rest, ok := strings.CutPrefix(string(line), "#!")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return ""
	}
	return fields[0]
}
