package doors

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"qb/api"
	"qb/internal/pause"
	"qb/internal/units"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/serve"
)

// Limits of the inbox.
const (
	lookEvery  = 2 * time.Second
	settledFor = 5 * time.Second // for which nothing of a bundle changes, so that it is there as a whole
	againAfter = time.Minute     // when the farm or the disk could not take a bundle
	mostLooked = 1000            // entries of the inbox at a time
	mostFiles  = 1000            // of a bundle
	mostNamed  = 100             // bundles of one name in the folders done or refused
)

// Folders of the inbox for what has been looked at.
const (
	doneFolder    = "done"
	refusedFolder = "refused"
	errorFile     = "error.txt"
)

// inbox is a folder whose bundles are submitted. It is used by one goroutine.
type inbox struct {
	farm   serve.Inside
	folder string
	every  time.Duration
	settle time.Duration
	seen   map[string]*dropped
	said   map[string]bool // what was logged about entries that are no bundles
}

// dropped is a bundle that was seen.
type dropped struct {
	state string    // of its files
	since time.Time // when it had this state first
	after time.Time // not to be tried before
	jobs  int64     // the job that it became, until it is moved; 0: none
}

func openInbox(farm serve.Inside) (serve.Door, error) {
	b := &inbox{farm: farm, folder: farm.Settings().BundleInbox, every: lookEvery, settle: settledFor,
		seen: map[string]*dropped{}, said: map[string]bool{}}
	if err := b.prepare(); err != nil {
		return serve.Door{}, fmt.Errorf("supervisor_bundle_inbox = %s: %w", b.folder, err)
	}
	said := func() string {
		return fmt.Sprintf("open without a login: bundles in %s are submitted as the owner of their files, if that is one of %s",
			b.folder, units.Few(facts.SplitList(farm.Settings().BundleUsers)))
	}
	farm.Log().Warn("a door is " + said())
	return serve.Door{Said: said, Run: b.run}, nil
}

// prepare makes the folders for what was looked at, and refuses an inbox in which users could move what is another's.
func (b *inbox) prepare() error {
	if err := onlyOurs(b.folder, true); err != nil {
		return err
	}
	for _, name := range []string{doneFolder, refusedFolder} {
		folder := filepath.Join(b.folder, name)
		if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := onlyOurs(folder, false); err != nil {
			return err
		}
	}
	return nil
}

// onlyOurs refuses a folder of another user, and one in which others may rename what they do not own.
func onlyOurs(folder string, drop bool) error {
	info, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	uid, _ := uidOf(info)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", folder)
	case uid != 0 && int(uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to uid %d; it must belong to root, or to the supervisor's own account", folder, uid)
	case info.Mode().Perm()&0o022 != 0 && !drop:
		return fmt.Errorf("%s can be written by others; run chmod 755 %[1]s", folder)
	case info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
		return fmt.Errorf("users can move files of others in %s; run chmod +t %[1]s", folder)
	}
	return nil
}

func uidOf(info fs.FileInfo) (uid uint32, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, true
}

// run looks into the folder until the context ends.
func (b *inbox) run(ctx context.Context) error {
	for pause.For(ctx, b.every) == nil {
		if !b.farm.Leads() {
			continue // the leader looks
		}
		if err := b.look(ctx); err != nil && !b.said[err.Error()] {
			b.say(err.Error(), "bundles are not submitted")
		}
	}
	return nil
}

// say logs something once. Names that are gone make room for others.
func (b *inbox) say(what, text string) {
	if len(b.said) >= mostLooked {
		clear(b.said)
	}
	if !b.said[what] {
		b.said[what] = true
		b.farm.Log().Warn(text, "folder", b.folder, "reason", what)
	}
}

// look submits the bundles that are there as a whole.
func (b *inbox) look(ctx context.Context) error {
	if err := b.prepare(); err != nil {
		return err
	}
	root, err := os.OpenRoot(b.folder)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := b.entries(root)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, name := range entries {
		there[name] = true
		if d, ready := b.settled(root, name); ready && ctx.Err() == nil {
			b.take(ctx, root, name, d)
		}
	}
	for name := range b.seen {
		if !there[name] {
			delete(b.seen, name)
		}
	}
	return nil
}

// entries are the names of what may be a bundle.
func (b *inbox) entries(root *os.Root) (names []string, err error) {
	folder, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	all, err := folder.ReadDir(mostLooked)
	if len(all) == mostLooked {
		b.say(fmt.Sprintf("it has %d entries or more", mostLooked), "some entries of the inbox wait")
	}
	for _, e := range all {
		switch name := e.Name(); {
		case name == doneFolder, name == refusedFolder, strings.HasPrefix(name, "."):
		case !e.IsDir():
			b.say(problem.Clip(name)+" is no folder", "an entry of the inbox is no bundle")
		default:
			names = append(names, name)
		}
	}
	if errors.Is(err, io.EOF) { // there is none
		err = nil
	}
	return names, err
}

// settled says whether a bundle has not changed for a while, and may be tried.
func (b *inbox) settled(root *os.Root, name string) (*dropped, bool) {
	state := stateOf(root, name)
	d := b.seen[name]
	if d == nil || d.state != state {
		d = &dropped{state: state, since: time.Now()}
		b.seen[name] = d
		return d, false
	}
	return d, time.Since(d.since) >= b.settle && time.Now().After(d.after)
}

// stateOf changes with every change of the files of a bundle, and is the same on all machines that see them. What it
// cannot read is refused when the bundle is submitted.
func stateOf(root *os.Root, name string) string {
	sum := sha256.New()
	files := 0
	_ = fs.WalkDir(root.FS(), name, func(path string, e fs.DirEntry, err error) error {
		if files++; files > mostFiles || err != nil {
			return fs.SkipAll
		}
		if info, err := e.Info(); err == nil {
			stat, _ := info.Sys().(*syscall.Stat_t)
			fmt.Fprintf(sum, "%q %v %d %d", path, info.Mode(), info.Size(), info.ModTime().UnixNano())
			if stat != nil {
				fmt.Fprintf(sum, " %d %d\n", stat.Uid, stat.Ino) // a device has another number on each machine
			}
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil))
}

// take submits a bundle and moves it. A bundle that was submitted and not moved, whatever came between, is submitted
// again under the same key, which makes no second job.
func (b *inbox) take(ctx context.Context, root *os.Root, name string, d *dropped) {
	var err error
	if d.jobs == 0 {
		d.jobs, err = b.submit(ctx, root, name, d.state)
	}
	refused := api.Refusal(err)
	switch {
	case err == nil:
		err = b.move(root, name, filepath.Join(doneFolder, strconv.FormatInt(d.jobs, 10)))
	case errors.Is(err, errBundle), refused.Kind != "" && refused.Kind != api.KindUnavailable &&
		refused.Kind != api.KindInternal && refused.RetryAfter == 0:
		err = b.refuse(root, name, err.Error())
	}
	if err != nil {
		d.after = time.Now().Add(cmp.Or(refused.RetryAfter, againAfter))
		b.farm.Log().Warn("a bundle waits", "folder", b.folder, "bundle", problem.Clip(name), "error", err)
	}
}

// submit makes the jobs of a bundle, as its owner.
func (b *inbox) submit(ctx context.Context, root *os.Root, name, state string) (job int64, err error) {
	r, uid, err := readBundle(root, name, b.folder)
	if err != nil {
		return 0, err
	}
	owner, err := user.LookupId(strconv.FormatUint(uint64(uid), 10))
	if unknown := user.UnknownUserIdError(0); errors.As(err, &unknown) {
		return 0, fmt.Errorf("%w: this machine knows no user with uid %d", errBundle, uid)
	}
	if err != nil {
		return 0, err
	}
	visit := serve.Visit{Door: "bundle", From: problem.Clip(filepath.Join(b.folder, name)), User: owner.Username,
		Open: facts.SplitList(b.farm.Settings().BundleUsers)}
	header := http.Header{"Idempotency-Key": {"bundle-" + state}}
	var made api.OpenJDReply
	if err := b.farm.Client(visit).CallWith(ctx, api.SubmitOpenJD, nil, r, &made, header); err != nil {
		return 0, err
	}
	b.farm.Log().Info("a bundle was submitted", "bundle", problem.Clip(name), "user", owner.Username,
		"job", made.Jobs[0].Job)
	return made.Jobs[0].Job, nil
}

// move renames a bundle to the first free name of that beginning.
func (b *inbox) move(root *os.Root, name, to string) error {
	_, err := b.moved(root, name, to)
	return err
}

func (b *inbox) moved(root *os.Root, name, to string) (where string, err error) {
	for n := 1; n <= mostNamed; n++ {
		where = to
		if n > 1 {
			where = fmt.Sprintf("%s-%d", to, n)
		}
		if _, err := root.Lstat(where); errors.Is(err, fs.ErrNotExist) {
			return where, root.Rename(name, where)
		}
	}
	return "", fmt.Errorf("there are %d bundles %s already; remove some", mostNamed, to)
}

// refuse moves a bundle and says in a file why. Its owner may have made something of that name, even a link.
func (b *inbox) refuse(root *os.Root, name, why string) error {
	where, err := b.moved(root, name, filepath.Join(refusedFolder, name))
	if err != nil {
		return err
	}
	b.farm.Log().Info("a bundle was refused", "bundle", problem.Clip(name), "reason", problem.Clip(why))
	file := filepath.Join(where, errorFile)
	if err := root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, why)
	return errors.Join(err, f.Close())
}
