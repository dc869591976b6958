package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"qb/api"
)

// occupied has the test's program open connections, as another user; see occupy.
const occupied = "QB_TEST_OCCUPY"

// occupy opens so many connections to a socket, each of which asks once and stays, and prints how many were answered.
func occupy(order string) {
	count, socket, _ := strings.Cut(order, " ")
	n, _ := strconv.Atoi(count)
	answered, held := 0, []net.Conn{}
	for range n {
		c, err := net.Dial("unix", socket)
		if err != nil {
			fmt.Println("dial", err)
			break
		}
		held = append(held, c)
		_ = c.SetDeadline(time.Now().Add(5 * time.Second))
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil && resp.StatusCode == http.StatusOK {
			answered++
		}
	}
	open := 0
	for _, c := range held {
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); os.IsTimeout(err) {
			open++
		}
	}
	fmt.Println(answered, open)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
}

// asUser starts occupy as a user, who holds the connections until the test ends.
func asUser(t *testing.T, uid uint32, n int, socket string) (answered, open int) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{fmt.Sprintf("%s=%d %s", occupied, n, socket)}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}, Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	if _, err := fmt.Fscan(out, &answered, &open); err != nil {
		t.Fatal(err)
	}
	return answered, open
}

// TestAttackConnections: one local user who opens thousands of connections keeps a few hundred; another user, and root
// by the socket and by TCP, are answered within a second.
func TestAttackConnections(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root opens connections as two other users")
		return
	}
	r := startRig(t)
	if err := os.Chmod(r.state, 0o711); err != nil {
		t.Fatal(err)
	}
	answered, open := asUser(t, 61001, 5100, r.socket)
	if answered < 5000 || open == 0 || open > 300 { // 256, and what is being closed
		t.Errorf("of 5,100 connections %d were answered and %d are open", answered, open)
	}
	for _, address := range []string{"unix:" + r.socket, r.url} {
		c, err := api.NewClient(address, r.token("root", api.Admin))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		must[api.Ping](t, c, api.PingFarm, nil, nil)
		if took := time.Since(began); took > time.Second {
			t.Errorf("root by %s waited %s", address, took)
		}
		c.CloseIdle()
	}
	began := time.Now()
	if answered, open := asUser(t, 61002, 1, r.socket); answered != 1 || open != 1 || time.Since(began) > time.Second {
		t.Errorf("another user: %d answers after %s", answered, time.Since(began))
	}
}
