package doors

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"qb/api"
	"qb/supervisor/wire/settings"
)

// inboxRig is a farm with an inbox for the user of rig, whose looks the test orders.
type inboxRig struct {
	*rig
	inbox    *inbox
	uid      int
	template string
}

func startInbox(t *testing.T) (r *inboxRig, isRoot bool) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Log("only root can make bundles of another user")
		return nil, false
	}
	of, err := user.Lookup(owner)
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.Atoi(of.Uid)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	r = &inboxRig{uid: uid, template: "specificationVersion: jobtemplate-2023-09\nname: Bundle {{Param.Shot}}\n" +
		"parameterDefinitions: [{name: Shot, type: STRING}, {name: Scene, type: PATH, default: \"\"}]\n" +
		"steps: [{name: S, script: {actions: {onRun: {command: \"true\"}}}}]\n"}
	r.rig = startRig(t, func(c *settings.Config) {
		c.BundleInbox = folder
		c.BundleUsers = "root," + owner
	})
	r.inbox = r.fresh()
	return r, true
}

// fresh is the inbox of a process that has seen nothing yet.
func (r *inboxRig) fresh() *inbox {
	return &inbox{farm: r.farm, folder: r.config.BundleInbox, seen: map[string]*dropped{}, said: map[string]bool{}}
}

// drop writes a bundle and gives it to a user.
func (r *inboxRig) drop(name string, uid int, files map[string]string) string {
	r.t.Helper()
	folder := filepath.Join(r.config.BundleInbox, name)
	if err := os.Mkdir(folder, 0o755); err != nil {
		r.t.Fatal(err)
	}
	for file, text := range files {
		path := filepath.Join(folder, file)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
		if err := os.Chown(path, uid, uid); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := os.Chown(folder, uid, uid); err != nil {
		r.t.Fatal(err)
	}
	return folder
}

// look has the inbox see what is there, and again what has not changed since.
func (r *inboxRig) look(b *inbox) {
	r.t.Helper()
	for range 2 {
		if err := b.look(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *inboxRig) good() map[string]string {
	return map[string]string{"template.yaml": r.template,
		"parameter_values.yaml": "parameterValues: [{name: Shot, value: s1}, {name: deadline:priority, value: 60}]\n"}
}

// TestBundles: a bundle becomes a job of its owner, once, and is moved.
func TestBundles(t *testing.T) {
	t.Parallel()
	r, isRoot := startInbox(t)
	if !isRoot {
		return
	}
	r.drop("shot", r.uid, r.good())
	r.look(r.inbox)
	jobs := r.jobs()
	if len(jobs) != 1 || jobs[0].User != owner || jobs[0].Name != "Bundle s1" {
		t.Fatalf("%+v", jobs)
	}
	if _, err := os.Stat(filepath.Join(r.config.BundleInbox, "done/1/template.yaml")); err != nil {
		t.Error(err)
	}
	var trail []api.AuditEntry
	r.admin(api.AuditLog, nil, nil, &trail)
	if from := trail[0].From; from != "bundle:"+filepath.Join(r.config.BundleInbox, "shot") {
		t.Errorf("audit trail: %s", from)
	}
	r.drop("shot", r.uid, r.good()) // another one of the same name
	r.look(r.inbox)
	if n := len(r.jobs()); n != 2 {
		t.Errorf("%d jobs", n)
	}
}

// TestBundleOfAKilledSupervisor: what was submitted and not moved is not submitted again by the next process.
func TestBundleOfAKilledSupervisor(t *testing.T) {
	t.Parallel()
	r, isRoot := startInbox(t)
	if !isRoot {
		return
	}
	r.drop("shot", r.uid, r.good())
	root, err := os.OpenRoot(r.config.BundleInbox)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if job, err := r.inbox.submit(t.Context(), root, "shot", stateOf(root, "shot")); err != nil || job != 1 {
		t.Fatalf("%d %v", job, err)
	}
	r.look(r.fresh())
	if n := len(r.jobs()); n != 1 {
		t.Errorf("%d jobs", n)
	}
	if _, err := os.Stat(filepath.Join(r.config.BundleInbox, "done/1")); err != nil {
		t.Error(err)
	}
}

// TestBundleThatGrows: what still changes waits.
func TestBundleThatGrows(t *testing.T) {
	t.Parallel()
	r, isRoot := startInbox(t)
	if !isRoot {
		return
	}
	folder := r.drop("shot", r.uid, map[string]string{"template.yaml": r.template})
	b := r.fresh()
	b.settle = time.Hour
	r.look(b)
	b.settle = 0
	if err := os.WriteFile(filepath.Join(folder, "parameter_values.yaml"), []byte("Shot: s2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(folder, "parameter_values.yaml"), r.uid, r.uid); err != nil {
		t.Fatal(err)
	}
	if err := b.look(t.Context()); err != nil || len(r.jobs()) != 0 {
		t.Fatalf("%v, %d jobs", err, len(r.jobs()))
	}
	r.look(b)
	if jobs := r.jobs(); len(jobs) != 1 || jobs[0].Name != "Bundle s2" {
		t.Errorf("%+v", jobs)
	}
}

// attacks drops bundles that must be refused, and says for which reason.
func (r *inboxRig) attacks(secret string, must func(error)) map[string]string {
	const strange = 4_100_000_000 // no user has this uid
	wants := map[string]string{}
	attack := func(name, want string, uid int, files map[string]string, spoil func(folder string)) {
		wants[name] = want
		spoil(r.drop(name, uid, files))
	}
	alone := func(template string) map[string]string { return map[string]string{"template.yaml": template} }
	nothing := func(string) {}
	attack("root", "root or the supervisor's own account", 0, r.good(), nothing)
	attack("unlisted", "has not opened it", 1, r.good(), nothing)
	attack("unknown", "knows no user with uid", strange, r.good(), nothing)
	attack("empty", "neither template.yaml nor template.json", r.uid, nil, nothing)
	attack("both", "are both there", r.uid, map[string]string{"template.yaml": r.template, "template.json": "{}"}, nothing)
	attack("bad", "template.yaml", r.uid, alone("name: x"), nothing)
	attack("unvalued", "Shot", r.uid, alone(r.template), nothing)
	attack("inside", "in the bundle, which is moved", r.uid, map[string]string{"template.yaml": r.template,
		"parameter_values.yaml": "{Shot: a, Scene: a.blend}"}, nothing)
	attack("large", "more than 1048576 bytes", r.uid, alone(strings.Repeat("#", 1<<20+1)), nothing)
	for name, file := range map[string]string{"link": "template.yaml", "trap": errorFile} {
		attack(name, "neither a file nor a folder", r.uid, nil, func(folder string) {
			must(os.Symlink(secret, filepath.Join(folder, file)))
			must(os.Lchown(filepath.Join(folder, file), r.uid, r.uid))
		})
	}
	attack("pipe", "neither a file nor a folder", r.uid, nil, func(folder string) {
		must(syscall.Mkfifo(filepath.Join(folder, "template.yaml"), 0o644))
		must(os.Chown(filepath.Join(folder, "template.yaml"), r.uid, r.uid))
	})
	attack("another's", "belongs to uid 1", r.uid, r.good(), func(folder string) {
		must(os.Chown(filepath.Join(folder, "template.yaml"), 1, 1))
	})
	attack("shared", "others than its owner can write", r.uid, r.good(), func(folder string) {
		must(os.Chmod(filepath.Join(folder, "template.yaml"), 0o664))
	})
	attack("open", "others than its owner can write", r.uid, r.good(), func(folder string) {
		must(os.Chmod(folder, 0o777))
	})
	return wants
}

// TestAttackInbox: what must not become a job is moved away, and a file says why.
func TestAttackInbox(t *testing.T) {
	t.Parallel()
	r, isRoot := startInbox(t)
	if !isRoot {
		return
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	wants := r.attacks(secret, must)
	must(os.Symlink(t.TempDir(), filepath.Join(r.config.BundleInbox, "linked")))
	r.look(r.inbox)
	for name, want := range wants {
		text, err := os.ReadFile(filepath.Join(r.config.BundleInbox, "refused", name, errorFile))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v %q, want %q", name, err, text, want)
		}
	}
	if text, err := os.ReadFile(secret); err != nil || string(text) != "untouched" {
		t.Errorf("the target of a link has %q, %v", text, err)
	}
	if n := len(r.jobs()); n != 0 {
		t.Errorf("attacks made %d jobs", n)
	}
	r.drop("good", r.uid, r.good())
	must(os.Chmod(r.config.BundleInbox, 0o777)) // now users could move bundles of others
	if err := r.inbox.look(t.Context()); err == nil || !strings.Contains(err.Error(), "chmod +t") {
		t.Errorf("an open folder: %v", err)
	}
}
