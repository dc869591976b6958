package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// qb watch in a real terminal: the window narrows and widens without old rows, a job is opened, its output followed and
// the job killed; the supervisor dies and comes back; at the end the terminal is as it was.
func TestWatchInATerminal(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "-slots", "2")
	for n := range 30 {
		f.run(0, "qbsub", "-name", fmt.Sprintf("job_%02d", n), "-cpus", "1", "-max_cpus", "0", "-range", "1-9", "sh", "-c", "echo picture QB_FRAME_NUMBER; sleep 600")
	}
	f.until("a job runs", func() bool { return f.job("1").Status == "running" })
	env := []string{"QB_STATE=" + f.state, "QB_CONF=/dev/null"}
	x := startTerminal(t, 80, 24, env, "bash", "--norc", "-c", "echo before; qb watch; echo code $?; sleep 60")
	x.untilText("28 waiting")
	for _, size := range [][2]int{{40, 12}, {120, 40}, {52, 9}, {200, 50}, {80, 24}} {
		x.size(size[0], size[1])
		x.until("a whole screen", func(lines []string) bool { return whole(lines, size[0], size[1]) })
	}
	x.send("\r")
	x.untilText("cmdrange")
	x.send("l")
	x.untilText("picture 1")
	x.send("\x1b") // with a letter at once behind it, it would be alt
	x.untilText("cmdrange")
	x.send("K")
	x.untilText("kill job 1 job_00?")
	x.send("y")
	f.until("the job is killed", func() bool { return f.job("1").Status == "killed" })

	if err := f.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = f.cmd.Wait()
	x.untilText("no supervisor answers since")
	x.send("\x1b")
	x.untilText("of 30 ") // the list of jobs, wherever the killed one has put it
	x.size(44, 12)
	x.size(100, 30)
	x.until("a whole screen", func(lines []string) bool { return whole(lines, 100, 30) })
	f.start()
	x.untilText("the supervisor is back")
	x.send("q")
	lines := x.untilText("code 0")
	if lines[0] != "before" || !strings.HasPrefix(lines[1], "code 0") || len(x.screen.unknown) > 0 {
		t.Errorf("left behind: %q; unknown: %q", lines[:3], x.screen.unknown)
	}
	stopFarm(t, f)
}

func stopFarm(t *testing.T, f *testFarm) {
	t.Helper()
	f.run(0, "qbkill", "0")
	if err := f.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = f.cmd.Wait() // the log says what went wrong
}

// whole says whether a screen is one picture: each part once and where it belongs, and as wide as the window.
func whole(lines []string, width, height int) bool {
	all := strings.Join(lines, "\n")
	ids := map[string]bool{}
	for _, line := range lines[2:] {
		words := strings.Fields(strings.TrimPrefix(line, ">"))
		if len(words) < 2 || !strings.HasPrefix(words[1], "job_") {
			continue
		}
		if ids[words[0]] {
			return false
		}
		ids[words[0]] = true
	}
	return len(lines) == height && len(lines[0]) == width && strings.HasPrefix(lines[0], "qb watch") && strings.HasPrefix(lines[height-1], "q quit") &&
		strings.Count(all, "qb watch") == 1 && strings.Count(all, "q quit") == 1 && strings.HasPrefix(strings.TrimSpace(lines[2]), "id") && len(ids) > 2
}

// Completion in real shells: options with one dash, words of commands, ids and hosts of a live farm, and words with a
// colon, which bash cuts.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	f := startFarm(t, "-slots", "1")
	f.run(0, "qbsub", "-name", "comp", "-status", "blocked", "-range", "10-12", "true")
	f.run(0, "qbsub", "-name", "other", "-status", "blocked", "-range", "10-12", "true")
	env := []string{"QB_STATE=" + f.state, "QB_CONF=/dev/null", "HOME=" + t.TempDir(), "PS1=$ ", "ZDOTDIR=" + filepath.Dir(f.state)}
	for _, shell := range []struct {
		name   string
		args   []string
		script string
	}{
		{"bash", []string{"--norc", "--noprofile", "-i"}, "source <(qb completion bash)"},
		{"zsh", []string{"-f", "-i"}, "autoload -Uz compinit; compinit -u -D; source <(qb completion zsh); PROMPT='$ '"},
		{"fish", []string{"--no-config", "-i"}, "qb completion fish | source; function fish_prompt; echo '$ '; end; function fish_greeting; end"},
	} {
		if _, err := exec.LookPath(shell.name); err != nil && shell.name != "bash" {
			t.Logf("not tested: %s is not installed", shell.name)
			continue
		}
		t.Run(shell.name, func(t *testing.T) {
			x := startTerminal(t, 100, 30, env, shell.name, shell.args...)
			x.until("a prompt", func(lines []string) bool { return len(strings.Join(lines, "")) > 0 })
			x.send(shell.script + "; clear; echo rea''dy\r")
			x.untilText("ready")
			for typed, want := range map[string]string{
				"qb wat\t":                           "qb watch",
				"qbsub -max\t":                       "qbsub -max_cpus",
				"qb sub --max-c\t":                   "qb sub --max_cpus",
				"qbhosts h\t":                        "qbhosts h",
				"qbkill 2:11\t":                      "qbkill 2:11",
				"qbkill 2:12,\b\t":                   "qbkill 2:12",
				"qbsub -status bl\t":                 "qbsub -status blocked",
				"qbsub -status=bl\t":                 "qbsub -status=blocked",
				"qb config show supervisor_max_pr\t": "qb config show supervisor_max_priority",
				"qbjobs -user al\t":                  "qbjobs -user all",
				"qb config check /etc/passw\t":       "qb config check /etc/passwd",
				"qbsub -conf /etc/hostna\t":          "qbsub -conf /etc/hostname",
			} {
				x.send("\x15" + typed + "#")
				x.until(typed+" becomes "+want, func(lines []string) bool {
					return slices.ContainsFunc(lines, func(line string) bool {
						return strings.Contains(line, "$ "+want+" #") || strings.Contains(line, "$ "+want+"#")
					})
				})
			}
		})
	}
	stopFarm(t, f)
}
