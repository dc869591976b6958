package translate

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"qb/api"
)

// TestProcessesAgainstTheKernel: a command, a folder, an environment and files are refused exactly if the kernel
// refuses a process of them, or to look at them, for their size. What qb adds for an item has room beside them.
func TestProcessesAgainstTheKernel(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 2))
	path := func() string { // a name of any length behind folders that are there
		name := strings.Repeat("x", 1+draw.IntN(255))
		if draw.IntN(2) == 0 {
			name = strings.Repeat("x", 253+draw.IntN(5))
		}
		folders := draw.IntN(30)
		if draw.IntN(2) == 0 {
			folders = (api.MaxPath-len(name))/2 + draw.IntN(5) - 2
		}
		return "/" + strings.Repeat("./", folders) + name
	}
	refused, accepted := map[string]int{}, map[string]int{}
	for range 300 {
		one := path()
		for field, r := range map[string]api.SubmitRequest{
			"command": {Command: []string{one}}, "bare": {Command: []string{filepath.Base(one)}},
			"cwd":      {Command: []string{"true"}, Cwd: one},
			"validate": {Command: []string{"true"}, Validate: []string{one + ":10K"}},
		} {
			looked := one
			if field == "bare" {
				looked = "/" + filepath.Base(one)
			}
			_, kernel := os.Lstat(looked)
			_, err := Submission(&r, "ann", "s")
			if (err != nil) != errors.Is(kernel, syscall.ENAMETOOLONG) {
				t.Fatalf("%s of %d bytes with a name of %d: %v, the kernel: %.20v", field, len(looked), len(filepath.Base(one)),
					err, kernel)
			}
			if err != nil {
				refused[field]++
			} else {
				accepted[field]++
			}
		}
	}
	if len(refused) != 4 || len(accepted) != 4 {
		t.Errorf("refused: %v, accepted: %v", refused, accepted)
	}
	for name, ok := range map[string]bool{"P:\\" + strings.Repeat(`folder\`, 60) + "a.exe": true,
		"P:\\" + strings.Repeat("f", 300):                         false,
		"/" + strings.Repeat("f", 250) + "QB_PADDED_FRAME_NUMBER": true, "/" + strings.Repeat("f", 255) +
			"QB_FRAME_END": false} {
		if _, err := Submission(&api.SubmitRequest{Command: []string{name}, Range: "1-10", Padding: 4}, "ann",
			"s"); (err == nil) != ok {
			t.Errorf("%.40q: %v", name, err)
		}
	}
}

// TestAllWordsAgainstTheKernel: what is accepted runs where the stack has its usual limit, with what qb adds, and what
// is more than a process can have is refused.
func TestAllWordsAgainstTheKernel(t *testing.T) {
	t.Parallel()
	var stack syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_STACK, &stack); err != nil {
		t.Fatal(err)
	}
	stack.Cur = 8 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_STACK, &stack); err != nil {
		t.Fatal(err)
	}
	program, err := filepath.EvalSymlinks("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(3, 4))
	accepted, never := 0, 0
	for range 60 {
		r := api.SubmitRequest{Command: []string{program}, Env: map[string]string{}}
		word := strings.Repeat("w", []int{0, 20, 60, 1000, 100_000}[draw.IntN(5)])
		value := strings.Repeat("v", []int{0, 20, 50, 1000, 100_000}[draw.IntN(5)])
		words, variables := min(api.MaxArguments-1, api.MaxCommand/(len(word)+1)-1),
			min(api.MaxVariables, api.MaxEnv/(len(value)+10)-1)
		if draw.IntN(2) == 0 {
			words = words*7/8 + draw.IntN(words/8+1)
		}
		for range words {
			r.Command = append(r.Command, word)
		}
		for n := range variables {
			r.Env[fmt.Sprint("X", n)] = value
		}
		row, err := Submission(&r, "ann", "s")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, r.Command[1:]...)
		cmd.Env = []string{}
		for name, value := range maps.All(r.Env) {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		err = CheckItems(&row, nil)
		if err == nil {
			accepted++
			cmd.Env = append(cmd.Env, "QB_ADDED="+strings.Repeat("x", 60<<10))
		}
		if ran := cmd.Run(); err == nil && ran != nil {
			t.Fatalf("%d words of %d bytes and %d variables of %d are accepted: %v", words, len(word), variables,
				len(value), ran)
		} else if err != nil && ran != nil {
			never++
		}
	}
	if accepted == 0 || never == 0 {
		t.Errorf("%d were accepted, %d were refused that never run", accepted, never)
	}
}
