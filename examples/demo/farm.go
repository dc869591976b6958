package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"qb/api"
)

const (
	readyMax  = 90 * time.Second // a first start makes a database cluster
	stopMax   = 30 * time.Second
	killedMax = 5 * time.Second
	logTail   = 20 // lines of the farm's log that a failure shows
)

// farm is the `qb farm` of this run and all it takes to talk to it.
type farm struct {
	bin, state string
	env        []string
	cmd        *exec.Cmd
	exited     chan error // gets the farm's end, once
	client     *api.Client
}

// startFarm starts a farm in a temporary folder and returns when it is ready.
func startFarm(ctx context.Context, bin string) (_ *farm, err error) {
	state, err := os.MkdirTemp("", "qb-demo-")
	if err != nil {
		return nil, err
	}
	f := &farm{bin: bin, state: state, exited: make(chan error, 1)}
	defer func() {
		if err != nil {
			stopped := ctx.Err() != nil
			if !stopped {
				err = fmt.Errorf("%w%s", err, f.logLines())
			}
			_ = f.stop("") // the first error is the one to tell
			f.clean(stopped)
		}
	}()
	// As root the database runs as another user, who must be able to pass through.
	if err := os.Chmod(state, 0o711); err != nil {
		return nil, err
	}
	conf := filepath.Join(state, "qb.conf")
	if err := os.WriteFile(conf, []byte("# The demo uses the defaults.\n"), 0o644); err != nil {
		return nil, err
	}
	// The commands find the farm as they do for every user: by the farm.json in the state folder.
	f.env = append(cleanEnv(), "QB_CONF="+conf, "QB_STATE="+f.folder())
	if err := f.launch(ctx); err != nil {
		return nil, err
	}
	return f, f.connect()
}

// folder is the farm's own state folder; its log and configuration lie beside it.
func (f *farm) folder() string { return filepath.Join(f.state, "farm") }

// cleanEnv leaves out this user's own settings of qb, so that the demo never meets his real farm.
func cleanEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "QB_") })
}

func (f *farm) launch(ctx context.Context) error {
	log, err := os.Create(filepath.Join(f.state, "farm.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"farm", "-state", f.folder(), "-hosts", "2", "-slots", "4", "-listen", "127.0.0.1:0"}
	fmt.Println("$ qb " + strings.Join(args, " "))
	f.cmd = exec.Command(filepath.Join(f.bin, "qb"), args...)
	f.cmd.Env, f.cmd.Stderr = f.env, log
	f.cmd.SysProcAttr = ownGroup()
	stdout, err := f.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := f.cmd.Start(); err != nil {
		f.cmd = nil
		return fmt.Errorf("starting the farm: %w; run make build first", err)
	}
	lines := make(chan string, 1)
	go func() {
		reader := bufio.NewReader(stdout)
		line, _ := reader.ReadString('\n') // an end without a line is seen below
		lines <- line
		_, _ = io.Copy(io.Discard, reader) // ends with the farm
		f.exited <- f.cmd.Wait()
	}()
	select {
	case line := <-lines:
		if !strings.HasPrefix(line, "ready ") {
			return errors.New("the farm ended before it was ready")
		}
		fmt.Println(strings.TrimSpace(line))
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(readyMax):
		return fmt.Errorf("the farm was not ready after %v", readyMax)
	}
}

// connect reads the farm's own account of where it is.
func (f *farm) connect() error {
	data, err := os.ReadFile(filepath.Join(f.folder(), "farm.json"))
	if err != nil {
		return err
	}
	var place struct {
		URL       string `json:"url"`
		TokenFile string `json:"token_file"`
	}
	if err := json.Unmarshal(data, &place); err != nil {
		return fmt.Errorf("farm.json: %w", err)
	}
	token, err := os.ReadFile(place.TokenFile)
	if err != nil {
		return err
	}
	f.client, err = api.NewClient(place.URL, strings.TrimSpace(string(token)))
	return err
}

// submit runs qbsub as a user would, shows the command, and returns the job's id.
func (f *farm) submit(ctx context.Context, args ...string) (int64, error) {
	fmt.Println("$ qbsub " + shown(args))
	out, err := f.run(ctx, "qbsub", args...)
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("qbsub printed %q instead of a job's id", out)
	}
	fmt.Printf("%d\n", id)
	return id, nil
}

// run runs one of qb's programs and returns what it printed; its error has what it complained of.
func (f *farm) run(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(f.bin, program), args...)
	var out, complaint bytes.Buffer
	cmd.Env = f.env
	cmd.Stdout = &out
	cmd.Stderr = &complaint
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s%s", program, err, complaint.String(), out.String())
	}
	return out.String(), nil
}

// shown puts quotes where a shell would want them, and shortens paths below this folder.
func shown(args []string) string {
	here, err := os.Getwd()
	words := make([]string, len(args))
	for i, word := range args {
		if rel, ok := strings.CutPrefix(word, here+"/"); ok && err == nil {
			word = rel
		}
		if word == "" || strings.ContainsAny(word, " *\"'$") {
			word = strconv.Quote(word)
		}
		words[i] = word
	}
	return strings.Join(words, " ")
}

// stop ends the farm as Ctrl-C does and makes sure that nothing of it, nor of what wrote to out, still runs.
func (f *farm) stop(out string) error {
	if f.cmd == nil {
		return nil
	}
	var failed error
	_ = f.cmd.Process.Signal(os.Interrupt) // it may have ended
	select {
	case err := <-f.exited:
		var exit *exec.ExitError
		if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 130) {
			failed = fmt.Errorf("the farm ended with %w%s", err, f.logLines())
		}
	case <-time.After(stopMax):
		failed = fmt.Errorf("the farm did not stop within %v and was killed%s", stopMax, f.logLines())
		_ = f.cmd.Process.Kill()
		<-f.exited
	}
	f.cmd = nil
	return errors.Join(failed, killStrays(f.state, out))
}

// clean removes the farm's folder, or says where it is when something went wrong.
func (f *farm) clean(well bool) {
	if !well {
		fmt.Fprintln(os.Stderr, "demo: the farm's log and state are kept in "+f.state)
		return
	}
	if err := os.RemoveAll(f.state); err != nil {
		fmt.Fprintln(os.Stderr, "demo: "+err.Error())
	}
}

// logLines is the end of the farm's own log, for an error.
func (f *farm) logLines() string {
	text, err := os.ReadFile(filepath.Join(f.state, "farm.log"))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || lines[0] == "" {
		return ""
	}
	return "\nthe farm's last words:\n  " + strings.Join(lines[max(0, len(lines)-logTail):], "\n  ")
}
