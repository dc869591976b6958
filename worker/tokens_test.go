package worker

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qb/api"
	"qb/worker/core"
)

func itemNamed(name, start string) core.Item {
	return core.Item{Desired: api.Desired{Name: name, Start: start}, Spec: api.JobSpec{Agenda: true}}
}

func TestTokensInShellLines(t *testing.T) {
	t.Parallel()
	values := itemTokens(itemNamed("it's $HOME", "0012"))
	for line, want := range map[string]string{
		"render QB_FRAME_NUMBER":        "render 0012",
		"render $QB_FRAME_NUMBER":       "render $QB_FRAME_NUMBER",
		"render ${QB_FRAME_NUMBER}":     "render ${QB_FRAME_NUMBER}",
		"a.QB_FRAME_START_b.QB_FRAME_X": "a.0012_b.QB_FRAME_X",
		"echo QB_FRAME_RANGE":           `echo "${QB_FRAME_RANGE}"`,
		`echo "<QB_FRAME_RANGE>"`:       `echo "<${QB_FRAME_RANGE}>"`,
		`echo '<QB_FRAME_RANGE>'`:       `echo '<'"${QB_FRAME_RANGE}"'>'`,
		`echo \"QB_FRAME_RANGE`:         `echo \""${QB_FRAME_RANGE}"`,
		"none":                          "none",
	} {
		if got, err := values.inShell(line, 1000); err != nil || got != want {
			t.Errorf("%s\n got: %s\nwant: %s", line, got, want)
		}
	}
}

func TestTokensInArguments(t *testing.T) {
	t.Parallel()
	values := itemTokens(itemNamed("it's $HOME", "0012"))
	for argument, want := range map[string]string{
		"-f=QB_FRAME_NUMBER":         "-f=0012",
		"a.QB_FRAME_START.QB_FRAME_": "a.0012.QB_FRAME_",
		"<QB_FRAME_RANGE>":           "<it's $HOME>",
		"echo $QB_FRAME_NUMBER ${QB_FRAME_NUMBER} QB_FRAME_NUMBER": "echo $QB_FRAME_NUMBER ${QB_FRAME_NUMBER} 0012",
	} {
		if got, err := values.inArgument(argument, 1000); err != nil || got != want {
			t.Errorf("%s\n got: %s\nwant: %s", argument, got, want)
		}
	}
}

func TestCommandWithoutAgendaIsUnchanged(t *testing.T) {
	t.Parallel()
	argv, err := arguments(core.Item{Spec: api.JobSpec{Command: []string{"a", "QB_FRAME_NUMBER"}}}, newExpansion())
	if err != nil || argv[1] != "QB_FRAME_NUMBER" {
		t.Errorf("%q, %v", argv, err)
	}
}

// FuzzShellValue: whatever an item is called and wherever its name is, the shell never runs it, and
// where the quotes are plain it says exactly the name.
func FuzzShellValue(f *testing.F) {
	for _, name := range []string{"plain", "it's", `"; touch canary; "`, "$(touch canary)", "`touch canary`", "'; touch canary; '", "a\nb", "-n", "\\", "*", "${IFS}"} {
		f.Add(name, uint8(0))
	}
	lines := []string{
		`printf '<%s>' QB_FRAME_RANGE`, `printf '<%s>' "QB_FRAME_RANGE"`, `printf '<%s>' 'QB_FRAME_RANGE'`,
		`printf '<%s>' pre-QB_FRAME_RANGE-post`, `printf '<%s>' "$(printf '%s' "QB_FRAME_RANGE")"`,
		"# don't\nprintf '<%s>' QB_FRAME_RANGE", "cat <<END\nQB_FRAME_RANGE\nEND", `echo 'a "b' QB_FRAME_RANGE`, "printf '%s' `echo QB_FRAME_RANGE`",
	}
	f.Fuzz(func(t *testing.T, name string, which uint8) {
		if strings.ContainsRune(name, 0) || len(name) > 1000 {
			return
		}
		for i, line := range lines {
			if which != 0 && int(which)%len(lines) != i {
				continue
			}
			dir := t.TempDir()
			text, err := itemTokens(itemNamed(name, name)).inShell(line, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", "-c", text)
			cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "QB_FRAME_RANGE=" + name}
			out, _ := cmd.Output()
			if entries, _ := os.ReadDir(dir); len(entries) > 0 {
				t.Errorf("%s ran something for the name %q: %s", line, name, filepath.Join(dir, entries[0].Name()))
			}
			if i < 3 && name != "" && string(out) != "<"+name+">" {
				t.Errorf("%s says %q for the name %q", line, out, name)
			}
		}
	})
}
