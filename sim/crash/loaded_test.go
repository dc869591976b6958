package crash

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"qb/api"
	"qb/supervisor/job/facts"
)

// Some jobs are load-once: their program, which is this test binary, takes one item after another. It writes down each
// item as item.sh does, and which one it has taken last. The manners are those of item.sh and some more: mute ends at an
// item's first attempt without a report; twice reports each item twice; wrong reports items that it does not hold;
// stubborn heeds neither TERM nor the status to end. A child of fork and hide is ended before its item is reported.
const loadedWord = "loaded" // on the command line

var loadedManners = []string{"plain", "plain", "plain", "fork", "stubborn", "fail", "orphan", "mute", "twice", "wrong"}

// Retries of a load-once job: an item fails with each kill of the program that holds it.
const (
	loadedRetries    = 50
	loadedRetryDelay = 1 // seconds, in which the job's other programs wait
)

// loadedProgram is the program.
type loadedProgram struct {
	truth, manner string
	ticks, shim   int
	lines         *bufio.ReadWriter
}

// loadedMain runs it, with what item.sh is called with.
func loadedMain(args []string) int {
	p := &loadedProgram{truth: args[0], manner: args[2], shim: os.Getppid()}
	p.ticks, _ = strconv.Atoi(args[1])
	if p.manner == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	conn, err := net.Dial("unix", os.Getenv("QB_WORK"))
	if err != nil {
		fmt.Println(err)
		return 9
	}
	p.lines = bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn))
	for {
		reply := p.ask(api.ProgramRequest{Do: api.ProgramRequestWork, Wait: 1})
		p.heard(cmp.Or(reply.Status, reply.Error))
		switch {
		case reply.Status == api.ProgramRunning && reply.Work != nil:
			if !p.do(*reply.Work) {
				return 0
			}
		case reply.Status == api.ProgramWaiting, reply.Status == api.ProgramBlocked:
		case p.manner == "stubborn":
			time.Sleep(200 * time.Millisecond)
		default:
			return 0
		}
	}
}

// ask has an empty reply once the shim is gone.
func (p *loadedProgram) ask(r api.ProgramRequest) (reply api.ProgramReply) {
	r.Version = api.ProgramVersion
	if json.NewEncoder(p.lines).Encode(r) != nil || p.lines.Flush() != nil {
		return reply
	}
	line, err := p.lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &reply)
	}
	if err != nil {
		return api.ProgramReply{}
	}
	return reply
}

// do is one item; false: the program is to end.
func (p *loadedProgram) do(w api.ProgramItem) bool {
	p.takes(w)
	p.say("start", w)
	child := p.child(w)
	for range p.ticks {
		time.Sleep(200 * time.Millisecond)
		p.say("tick", w)
		if p.manner == "orphan" && w.Attempt <= 2 {
			_ = syscall.Kill(p.shim, syscall.SIGKILL)
		}
	}
	switch {
	case p.manner == "mute" && w.Attempt == 1:
		return false
	case p.manner == "fail" && w.Attempt == 1:
		p.say("fail", w)
		p.report(w, api.ProgramFailed, "", api.ProgramPending, api.ProgramNotYours)
		return true
	case p.manner == "wrong":
		other := w
		other.Item++
		p.report(other, api.ProgramComplete, "", api.ProgramNotYours, api.ProgramReported)
		other = w
		other.Attempt++
		p.report(other, api.ProgramComplete, "", api.ProgramNotYours)
	}
	p.say("end", w)
	if child != nil {
		_ = child.Process.Kill()
		_ = child.Wait()
	}
	result := fmt.Sprintf(`{"ticks":%d}`, p.ticks)
	got := p.report(w, api.ProgramComplete, result, api.ProgramOK, api.ProgramPending, api.ProgramNotYours)
	if got == api.ProgramOK {
		p.write(p.path("taken"), fmt.Sprintln(w.Job, w.Item, w.Attempt))
		fmt.Println("between two items") // in the log of none
	}
	if p.manner == "twice" {
		p.report(w, api.ProgramComplete, "", api.ProgramReported, api.ProgramNotYours)
	}
	return true
}

// report says what became of an item, and is not content with any other answer than these, or none.
func (p *loadedProgram) report(w api.ProgramItem, word, result string, answers ...string) string {
	r := api.ProgramRequest{Do: api.ProgramReportWork, Item: w.Item, Attempt: w.Attempt, Status: word, ExitCode: 3}
	if result != "" {
		r.Result = json.RawMessage(result)
	}
	reply := p.ask(r)
	got := cmp.Or(reply.Status, reply.Error)
	if got != "" && !slices.Contains(answers, got) {
		p.write(p.path("odd"), fmt.Sprintf("%d.%d.%d as %s: %+v\n", w.Job, w.Item, w.Attempt, word, reply))
	}
	p.heard(word + ": " + got)
	return got
}

// child is what the item leaves behind if it is not reported; nil: nothing.
func (p *loadedProgram) child(w api.ProgramItem) *exec.Cmd {
	if p.manner != "fork" && p.manner != "hide" {
		return nil
	}
	host := w.Env["QB_HOST"]
	cmd := exec.Command("/bin/sh", p.path("child.sh"), filepath.Join(p.truth, host), fmt.Sprint(w.Job),
		strconv.Itoa(w.Item), strconv.Itoa(w.Attempt), host, loadedWord)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = []string{}
	if p.manner == "fork" {
		cmd.Env = append(os.Environ(), fmt.Sprintf("QB_ITEM=%d", w.Item), fmt.Sprintf("QB_ATTEMPT=%d", w.Attempt),
			loadedMark+"=yes")
	}
	if err := cmd.Start(); err != nil {
		p.write(p.path("odd"), fmt.Sprintf("the child of %d.%d.%d: %v\n", w.Job, w.Item, w.Attempt, err))
		return nil
	}
	return cmd
}

// loadedMark is in the environment of what a program of a load-once job starts.
const loadedMark = "QB_CRASH_LOADED"

func (p *loadedProgram) path(name string) string { return filepath.Join(filepath.Dir(p.truth), name) }

// say writes as item.sh does.
func (p *loadedProgram) say(kind string, w api.ProgramItem) {
	text, _ := os.ReadFile("/proc/uptime")
	up, _, _ := strings.Cut(string(text), " ")
	host := w.Env["QB_HOST"]
	p.write(filepath.Join(p.truth, host), fmt.Sprintln(kind, w.Job, w.Item, w.Attempt, host, os.Getpid(), up))
	fmt.Printf("%s %d.%d.%d\n", kind, w.Job, w.Item, w.Attempt)
}

func (p *loadedProgram) write(path, text string) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err == nil {
		_, err = file.WriteString(text)
		file.Close()
	}
	if err != nil {
		panic(err)
	}
}

func (p *loadedProgram) heard(word string) { p.write(p.path("heard"), cmp.Or(word, "nothing")+"\n") }

// takes notes which item the process has now.
func (p *loadedProgram) takes(w api.ProgramItem) {
	name := filepath.Join(p.path("holds"), strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(name+".new", fmt.Append(nil, w.Job, w.Item, w.Attempt), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		panic(err)
	}
}

// loadedOf is the load-once job's command.
func (r *crashRig) loadedOf(job crashJob) []string {
	self, err := os.Executable()
	r.must(err)
	return []string{self, loadedWord, r.path("truth"), strconv.Itoa(job.ticks), job.manner}
}

// isLoaded says whether a command line is that of a program.
func isLoaded(words []string) bool { return len(words) > 4 && words[1] == loadedWord }

// holdsNow is the attempt that a program has taken last; before the first what its environment says.
func (r *crashRig) holdsNow(p *crashProc) {
	text, err := os.ReadFile(filepath.Join(r.path("holds"), strconv.Itoa(p.pid)))
	var id facts.AttemptID
	if err != nil {
		return
	}
	if _, err := fmt.Sscan(string(text), &id.Job, &id.Item, &id.Number); err == nil && id.Job == p.id.Job {
		p.id = id
	}
}

// programs are the processes of load-once jobs.
func (r *crashRig) programs() (found []crashProc) {
	for _, p := range r.itemProcesses() {
		if isLoaded(commandLine(p.pid)) {
			found = append(found, p)
		}
	}
	return found
}

// killProgram costs the item that it holds an attempt, if it holds one, and nothing else.
func (r *crashRig) killProgram() bool {
	found := r.programs()
	if len(found) == 0 {
		return false
	}
	p := found[r.random.IntN(len(found))]
	r.note("killing program %d of %s, which took %v last", p.pid, p.host, p.id)
	r.killed[crashHome{p.id.Job, p.host}]++
	return syscall.Kill(p.pid, syscall.SIGKILL) == nil
}

// crashHome is a job on a host.
type crashHome struct {
	job  facts.JobID
	host string
}

// excused says whether an attempt may count as failed though the program did not report that: it ended without a word,
// or it was killed, which excuses one attempt of the job on the host. What was recorded as complete is never excused.
func (r *crashRig) excused(id facts.AttemptID, row crashRow, j crashJob) bool {
	home := crashHome{id.Job, row.host}
	switch {
	case !j.loaded || r.taken[id]:
		return false
	case j.manner == "mute" && id.Number == 1:
	case r.killed[home] == 0:
		return false
	default:
		r.killed[home]--
	}
	r.unreported[id] = true
	return true
}

// checkPrograms takes in what the programs heard.
func (r *crashRig) checkPrograms() {
	if odd, err := os.ReadFile(r.path("odd")); err == nil {
		r.t.Errorf("programs of load-once jobs were answered:\n%s", odd)
	}
	text, _ := os.ReadFile(r.path("heard")) // none ran
	heard := map[string]int{}
	for line := range strings.Lines(string(text)) {
		heard[strings.TrimSpace(line)]++
	}
	r.t.Logf("programs of load-once jobs heard: %s", counted(heard))
	if r.faults["program killed"] > 10 && heard[api.ProgramComplete+": "+api.ProgramOK] < 10 {
		r.t.Error("hardly a program reported an item as complete")
	}
}

// readTaken notes which reports were answered with ok: those attempts were on a disk by then.
func (r *crashRig) readTaken() {
	text, _ := os.ReadFile(r.path("taken"))
	r.taken = map[facts.AttemptID]bool{}
	for line := range strings.Lines(string(text)) {
		var id facts.AttemptID
		if _, err := fmt.Sscan(line, &id.Job, &id.Item, &id.Number); err != nil {
			r.t.Errorf("%q: %v", line, err)
		}
		if r.taken[id] {
			r.t.Errorf("%v was taken twice as complete", id)
		}
		r.taken[id] = true
	}
}
