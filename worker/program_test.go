package worker

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"qb/api"
)

// backEnd is what a program of a load-once job has of its shim.
type backEnd struct {
	conn  net.Conn
	lines *bufio.Reader
}

// message is a request or a reply.
type message = map[string]any

func dialWork() (*backEnd, error) {
	conn, err := net.Dial("unix", os.Getenv("QB_WORK"))
	if err != nil {
		return nil, err
	}
	return &backEnd{conn, bufio.NewReader(conn)}, nil
}

func mustDialWork() *backEnd {
	b, err := dialWork()
	if err != nil {
		fmt.Println("no connection:", err)
		os.Exit(9)
	}
	return b
}

// ask sends a request and returns the reply; nil if the connection ends.
func (b *backEnd) ask(request message) message {
	request["version"] = 1
	line, err := json.Marshal(request)
	if err != nil {
		panic(err)
	}
	return b.send(append(line, '\n'))
}

func (b *backEnd) send(line []byte) message {
	b.conn.Write(line) // what was refused meanwhile can be read
	return b.read()
}

func (b *backEnd) read() message {
	var reply message
	text, err := b.lines.ReadBytes('\n')
	if err != nil || json.Unmarshal(text, &reply) != nil {
		return nil
	}
	return reply
}

// request asks until there is an item; nil if the program is to end.
func (b *backEnd) request() *api.ProgramItem {
	for {
		reply := b.ask(message{"do": "requestwork", "wait": 1})
		switch reply["status"] {
		case "running":
			data, _ := json.Marshal(reply["work"])
			var w api.ProgramItem
			if json.Unmarshal(data, &w) != nil {
				return nil
			}
			return &w
		case "waiting", "blocked":
		default:
			fmt.Println("ends:", reply)
			return nil
		}
	}
}

func (b *backEnd) report(w *api.ProgramItem, more message) message {
	m := message{"do": "reportwork", "item": w.Item, "attempt": w.Attempt, "status": "complete"}
	for name, value := range more {
		m[name] = value
	}
	return b.ask(m)
}

// lastItem never ends by itself.
const lastItem = 999_999

// programMain is a program of a load-once job. What it does with item 2 is its mode; all others it reports as complete.
func programMain(mode string) int {
	fmt.Printf("loaded %d\n", os.Getpid())
	if mode == "silent" {
		time.Sleep(time.Hour)
	}
	b := mustDialWork()
	for n := 0; ; n++ {
		if n == 1 && mode == "deaf" { // it does not ask again, and does not end by TERM
			hear := make(chan os.Signal, 1)
			signal.Notify(hear, syscall.SIGTERM)
			<-hear
			fmt.Println("hears TERM")
			time.Sleep(time.Hour)
		}
		for n == 1 && mode == "words" {
			fmt.Println(b.ask(message{"do": "requestwork", "wait": 0.05})["status"])
		}
		w := b.request()
		if w == nil {
			return 0
		}
		fmt.Printf("item %d of %d by %d\n", w.Item, w.Job, os.Getpid())
		if w.Item == lastItem {
			time.Sleep(time.Hour)
		}
		if w.Item == 2 && w.Attempt == 1 && mode != "plain" {
			if again := misbehave(mode, &b, w); again >= 0 {
				return again
			}
			continue
		}
		if reply := b.report(w, message{"result": message{"square": w.Item * w.Item}, "output_paths": []string{fmt.Sprint("/out/", w.Item)}}); reply["status"] != "ok" {
			fmt.Println("not ok:", reply)
			return 8
		}
	}
}

// misbehave is what a mode does with its item. It returns the exit status; less than 0 if the program goes on.
func misbehave(mode string, b **backEnd, w *api.ProgramItem) int {
	c := *b
	switch mode {
	case "fail", "environment", "linger":
		fails(mode, c, w)
		return 0
	case "twice":
		fmt.Println("said", c.report(w, nil)["status"], c.report(w, nil)["error"])
		return -1
	case "exit":
		return 0
	case "exit3":
		return 3
	case "crash":
		ownKill()
	case "hang":
		time.Sleep(time.Hour)
	case "late": // it reports when it is to end
		hear := make(chan os.Signal, 1)
		signal.Notify(hear, syscall.SIGTERM)
		fmt.Println("up")
		<-hear
		fmt.Println("said", c.report(w, nil)["error"], c.ask(message{"do": "requestwork"})["status"])
		return 0
	case "busy", "gate": // for a while it does not ask for the next item, or does not report this one
		if mode == "busy" {
			c.report(w, nil)
		}
		for _, err := os.Stat(os.Getenv("GO")); err != nil; _, err = os.Stat(os.Getenv("GO")) {
			time.Sleep(10 * time.Millisecond)
		}
		if mode == "gate" {
			c.report(w, nil)
		}
		return -1
	case "leave": // it ends before it asks for the next item
		fmt.Println("said", c.report(w, nil)["status"])
		return 5
	case "between":
		fmt.Println("within")
		c.report(w, nil)
		fmt.Println("between")
		return -1
	case "fork": // another reader: it gets the same item, and one report of it counts
		self, _ := os.Executable()
		child := exec.Command(self, "program", "reader")
		child.Stdout = os.Stdout
		if err := child.Run(); err != nil {
			fmt.Println(err)
		}
		fmt.Println("said", c.report(w, nil)["error"])
		return -1
	case "reader":
		fmt.Println("reader said", c.report(w, nil)["status"])
		return 0
	case "work", "ticks":
		labour(mode)
	default:
		tryOn(mode, b, w)
	}
	fmt.Println("then", (*b).report(w, nil)["status"])
	return -1
}

// fails reports its item as failed.
func fails(mode string, c *backEnd, w *api.ProgramItem) {
	switch mode {
	case "fail":
		fmt.Println("failed:", c.report(w, message{"status": "failed", "exit_code": 7, "reason": "no camera"})["status"])
		if again := c.request(); again != nil {
			fmt.Println("an item after a failed one")
		}
	case "environment":
		fmt.Println("said", c.report(w, message{"status": "failed", "code": "weather"})["error"])
		c.report(w, message{"status": "failed", "exit_code": 4, "code": "environment", "reason": "no conda"})
	case "linger": // longer than a program has on a farm with a short grace
		c.report(w, message{"status": "failed"})
		time.Sleep(11 * time.Second)
		fmt.Println("lingered")
	}
}

// labour takes a while.
func labour(mode string) {
	switch mode {
	case "work": // half a second of processor time, and 200 MB for a moment
		held, err := syscall.Mmap(-1, 0, 200<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
		for began := ownTime(); err == nil && ownTime()-began < 500*time.Millisecond; {
			for n := 0; n < len(held); n += 4096 {
				held[n]++
			}
		}
		syscall.Munmap(held)
	case "ticks":
		for range 10 {
			fmt.Println("tick")
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// tryOn asks what it must not; the item is the program's as before.
func tryOn(mode string, b **backEnd, w *api.ProgramItem) {
	c := *b
	switch mode {
	case "other": // another item, and another attempt
		fmt.Println("said", c.report(w, message{"item": w.Item + 1})["error"], c.report(w, message{"attempt": 9})["error"])
	case "flood": // without an end of a line
		written, piece := 0, []byte(strings.Repeat("x", 1<<16))
		for written < 1<<30 {
			n, err := c.conn.Write(piece)
			if written += n; err != nil {
				break
			}
		}
		fmt.Println("said", c.read()["error"], written < 1<<28)
		*b = mustDialWork()
	case "half":
		c.conn.Write([]byte(`{"version":1,"do":"requestwo`))
		c.conn.Close()
		*b = mustDialWork()
	case "garbage":
		fmt.Println("said", c.send([]byte("what\n"))["error"], c.send([]byte("[]\n"))["error"],
			c.send([]byte(`{"version":2,"do":"requestwork"}` + "\n"))["error"], c.ask(message{"do": "dance"})["error"],
			c.report(w, message{"status": "great"})["error"], c.ask(message{"do": "reportjob"})["error"])
	case "result":
		fmt.Println("said", c.report(w, message{"result": strings.Repeat("x", 5000)})["error"],
			c.report(w, message{"result": strings.Repeat("x", 1<<20)})["error"])
		*b = mustDialWork()
	case "connections":
		var all []net.Conn
		refused := 0
		for range 40 {
			if d, err := dialWork(); err == nil {
				all = append(all, d.conn)
				d.conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
				if reply := d.read(); reply["error"] == "refused" {
					refused++
				}
			}
		}
		fmt.Println("said", refused, "refused")
		for _, conn := range all {
			conn.Close()
		}
	case "job":
		job, _ := c.ask(message{"do": "jobobj"})["job"].(message)
		fmt.Println("said", job["id"], job["user"], job["instance"], c.ask(message{"do": "reportjob", "status": "complete"})["status"])
	case "progress":
		c.report(w, message{"status": "running", "progress": 40})
		time.Sleep(time.Second)
	}
}

func ownTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // it is refused to no process
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func ownKill() {
	p, _ := os.FindProcess(os.Getpid())
	p.Kill()
	time.Sleep(time.Hour)
}
