package doors

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"qb/api"
	"qb/openjd"
)

// errBundle marks what is wrong with a bundle itself.
var errBundle = errors.New("the bundle is not taken")

// bundleReader reads the files of one owner.
type bundleReader struct {
	folder *os.Root
	uid    uint32
}

// readBundle is the submission of a bundle, and the owner of its files. All belong to one user, who alone can have
// written what is read: another user who could write into the bundle would run commands as its owner.
func readBundle(inbox *os.Root, name, at string) (*api.OpenJDRequest, uint32, error) {
	seen, err := inbox.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if !seen.IsDir() {
		return nil, 0, fmt.Errorf("%w: it is no folder", errBundle)
	}
	folder, err := inbox.OpenRoot(name)
	if err != nil {
		return nil, 0, err
	}
	defer folder.Close()
	opened, err := folder.Stat(".")
	if err != nil {
		return nil, 0, err
	}
	b := bundleReader{folder: folder}
	b.uid, _ = uidOf(opened)
	if !os.SameFile(seen, opened) {
		return nil, 0, fmt.Errorf("%w: it was replaced while it was read", errBundle)
	}
	if err := ownersAlone(".", opened); err != nil {
		return nil, b.uid, err
	}
	if err := b.ofOneOwner(); err != nil {
		return nil, b.uid, err
	}
	r, err := b.request(filepath.Join(at, name))
	return r, b.uid, err
}

// ownersAlone refuses what others than its owner may write.
func ownersAlone(name string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%w: others than its owner can write %s; run chmod go-w", errBundle, name)
	}
	return nil
}

// ofOneOwner refuses links, pipes and files of others, wherever in the bundle.
func (b bundleReader) ofOneOwner() error {
	files := 0
	return fs.WalkDir(b.folder.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("%w: %w", errBundle, err)
		}
		if files++; files > mostFiles {
			return fmt.Errorf("%w: it has more than %d files", errBundle, mostFiles)
		}
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("%w: %w", errBundle, err)
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return fmt.Errorf("%w: %s is neither a file nor a folder", errBundle, path)
		}
		if uid, _ := uidOf(info); uid != b.uid {
			return fmt.Errorf("%w: %s belongs to uid %d, and the folder to uid %d", errBundle, path, uid, b.uid)
		}
		return nil
	})
}

// read reads a file of the bundle, as it is when it is open.
func (b bundleReader) read(name string) ([]byte, error) {
	f, err := b.folder.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBundle, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if uid, _ := uidOf(info); uid != b.uid || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is no file of the folder's owner", errBundle, name)
	}
	if err := ownersAlone(name, info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, openjd.MaxDocument+1))
	if err == nil && len(text) > openjd.MaxDocument {
		err = fmt.Errorf("%w: %s has more than %d bytes", errBundle, name, openjd.MaxDocument)
	}
	return text, err
}

// request is what the farm is asked for the bundle that lies at a path.
func (b bundleReader) request(at string) (*api.OpenJDRequest, error) {
	files, err := openjd.FindBundle(func(name string) bool {
		_, err := b.folder.Lstat(name)
		return err == nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBundle, err)
	}
	text, err := b.read(files.Template)
	if err != nil {
		return nil, err
	}
	r := &api.OpenJDRequest{Template: api.OpenJDDocument{Text: string(text), Syntax: syntaxOf(files.Template)}}
	template, err := openjd.ReadJob(text, openjd.SyntaxOf(files.Template))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errBundle, files.Template, err)
	}
	s := openjd.Submission{Values: map[string]string{}, WorkingDir: at, TemplateDir: at}
	if files.Values != "" {
		if text, err = b.read(files.Values); err != nil {
			return nil, err
		}
		if s.Values, r.Bundle, err = openjd.ReadValues(text, openjd.SyntaxOf(files.Values)); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", errBundle, files.Values, err)
		}
	}
	if r.Values, err = openjd.Joined(template, s); err != nil {
		return nil, fmt.Errorf("%w: %w", errBundle, err)
	}
	for _, p := range template.Parameters {
		value := r.Values[p.Name]
		if p.Type == openjd.Path && (value == at || strings.HasPrefix(value, at+"/")) {
			return nil, fmt.Errorf("%w: %s is the path %s in the bundle, which is moved; give whole paths of files elsewhere",
				errBundle, p.Name, value)
		}
	}
	return r, nil
}

// syntaxOf is the syntax of a file as requests name it.
func syntaxOf(name string) string {
	if openjd.SyntaxOf(name) == openjd.JSON {
		return "json"
	}
	return "yaml"
}
