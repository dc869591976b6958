package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"qb/api"
)

// fakeFarm is a farm that a test makes up.
type fakeFarm struct {
	wait  time.Duration
	err   error
	asked api.Params
}

func (f *fakeFarm) Ask(_ context.Context, _ api.Endpoint, params api.Params, out any) error {
	time.Sleep(f.wait)
	if f.asked = params; f.err != nil {
		return f.err
	}
	switch out := out.(type) {
	case *[]api.Job:
		*out = []api.Job{{ID: 12, Name: "be\x1bauty", User: "ann", Status: "running", Cluster: "/show"}, {ID: 7, User: "bob", Cluster: "/show"}}
	case *[]api.Host:
		*out = []api.Host{{Name: "rn1", State: "up", Groups: []string{"gpu", "big"}, Cluster: "/"}, {Name: "rn2", Groups: []string{"gpu"}, Cluster: "/"}, {Name: "$(reboot)"}, {Name: "a b"}, {Name: "x\n/etc"}}
	case *[]api.Item:
		*out = []api.Item{{Name: "1", Status: "complete"}, {Name: "1;reboot"}}
	case *[]api.Share:
		*out = []api.Share{{User: "cleo", Account: "show/shot"}, {User: "ann"}}
	}
	return nil
}

func completionTexts(f *fakeFarm, place wordPosition, begun string) string {
	ctx, cancel := context.WithTimeout(context.Background(), completeWithin)
	defer cancel()
	var texts []string
	for _, w := range completions(ctx, f, place, begun) {
		texts = append(texts, w.Text)
	}
	return strings.Join(texts, " ")
}

func TestCompletions(t *testing.T) {
	for _, c := range []struct {
		place wordPosition
		begun string
		want  string
	}{
		{wordPosition{Kind: jobWords}, "", "12 7"}, {wordPosition{Kind: jobWords}, "1", "12"}, {wordPosition{Kind: jobWords, List: true}, "12,", "12,12 12,7"},
		{wordPosition{Kind: itemWords}, "1", "12"}, {wordPosition{Kind: itemWords}, "12:", "12:1"}, {wordPosition{Kind: itemWords}, "x:", ""},
		{wordPosition{Kind: hostWords}, "", "rn1 rn2"}, {wordPosition{Kind: hostWords, List: true}, "rn1,rn", "rn1,rn1 rn1,rn2"},
		{wordPosition{Kind: groupWords}, "", "big gpu"}, {wordPosition{Kind: clusterWords}, "", "/ /show"}, {wordPosition{Kind: userWords}, "", "ann bob cleo"},
		{wordPosition{Kind: userWords, Words: []string{"all"}}, "a", "all ann"}, {wordPosition{Kind: accountWords}, "", "show/shot"}, {wordPosition{}, "", ""},
	} {
		if got := completionTexts(&fakeFarm{}, c.place, c.begun); got != c.want {
			t.Errorf("%+v, %q: %q, want %q", c.place, c.begun, got, c.want)
		}
	}
	f := &fakeFarm{}
	completionTexts(f, wordPosition{Kind: jobWords, States: []string{"failed", "killed"}}, "")
	if f.asked["status"] != "failed,killed" {
		t.Errorf("asked for %v", f.asked)
	}
}

// A farm that fails, is not there, or takes too long offers nothing, in time.
func TestCompletionIsSilent(t *testing.T) {
	if got := completionTexts(&fakeFarm{err: errors.New("no")}, wordPosition{Kind: groupWords, Words: []string{"none"}}, ""); got != "none" {
		t.Errorf("%q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), completeWithin)
	defer cancel()
	if got := completions(ctx, &fakeFarm{err: errors.New("no farm found")}, wordPosition{Kind: jobWords}, ""); len(got) > 0 {
		t.Errorf("%v", got)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if got := completionTexts(&fakeFarm{wait: time.Hour}, wordPosition{Kind: jobWords}, ""); got != "" || time.Since(began) != completeWithin {
			t.Errorf("%q after %s", got, time.Since(began))
		}
		time.Sleep(time.Hour) // the call that was left to itself ends
	})
}

// What is printed holds no control characters: a shell script reads it line by line.
func TestPrintCompletions(t *testing.T) {
	var out strings.Builder
	if err := printCompletions(&out, wordPosition{Kind: fileWords}, []completion{{"12", "be\x1b[2J\nauty"}}); err != nil {
		t.Fatal(err)
	}
	if want := "12\tbe\\x1b[2J\\nauty\n\tfiles\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range completionShells {
		if text := completionScript(shell, []string{"qb", "qbsub"}); !strings.Contains(text, "qb qbsub") || strings.Contains(text, "@NAMES@") {
			t.Errorf("%s:\n%s", shell, text)
		}
	}
	if slices.Contains(completionShells, "csh") || completionScript("csh", nil) != "" {
		t.Error("a script for csh")
	}
}

// TestAttackNamesAreNotInserted: bash inserts the one word of a list, also when it was asked for a list to look at, so
// that word must be without what a user wrote about it.
func TestAttackNamesAreNotInserted(t *testing.T) {
	t.Parallel()
	qb := filepath.Join(t.TempDir(), "qb")
	if err := os.WriteFile(qb, []byte("#!/bin/sh\nprintf \"$ANSWER\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ask := completionScript("bash", []string{"qb"}) + `
COMP_WORDBREAKS=:= COMP_WORDS=("$0" kill "") COMP_CWORD=2 COMP_LINE="$0 kill " COMP_POINT=$((${#0} + 6)) COMP_TYPE=$TYPE
_qb_complete
printf '%s\n' "${COMPREPLY[@]}"`
	const one, two = `12\tx; reboot of bob\n`, `13\ty of bob\n`
	for _, c := range [][3]string{
		{"9", one, "12"}, {"63", one, "12"}, {"9", one + two, "12\n13"}, {"63", one + two, "12  (x; reboot of bob)\n13  (y of bob)"}, {"63", "", ""},
	} {
		cmd := exec.CommandContext(t.Context(), "bash", "--norc", "-c", ask, qb)
		cmd.Env = append(os.Environ(), "TYPE="+c[0], "ANSWER="+c[1])
		if got, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(got)) != c[2] {
			t.Errorf("%q: %q, %v", c, got, err)
		}
	}
}
