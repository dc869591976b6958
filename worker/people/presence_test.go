package people

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/godbus/dbus/v5/prop"
)

// startBus is a real message bus for this test alone; it returns its address.
func startBus(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "bus.conf")
	text := fmt.Sprintf(`<busconfig><type>custom</type><listen>unix:path=%s/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>`, dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config-file="+config, "--nofork", "--print-address=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// serveLogind plays logind on the bus, with the two properties that are read.
func serveLogind(t *testing.T, address string) *prop.Properties {
	t.Helper()
	conn, err := dbus.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	props, err := prop.Export(conn, "/org/freedesktop/login1", prop.Map{manager: {
		"IdleHint": {Value: true}, "IdleSinceHint": {Value: uint64(0)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.RequestName("org.freedesktop.login1", dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	return props
}

func watcherOn(t *testing.T, address string) (*Watcher, *strings.Builder) {
	var log strings.Builder
	w := &Watcher{
		log: slog.New(slog.NewTextHandler(&log, nil)), devices: t.TempDir(),
		connect: func(options ...dbus.ConnOption) (*dbus.Conn, error) { return dbus.Connect(address, options...) },
	}
	t.Cleanup(w.hangUp)
	return w, &log
}

// Somebody is there while a session is not idle, and for the time that the site says after that.
func TestLogind(t *testing.T) {
	address := startBus(t)
	props := serveLogind(t, address)
	w, _ := watcherOn(t, address)
	now := time.Now()
	if w.look(t.Context(), now); w.Present(now, time.Hour) {
		t.Error("nobody has logged in, and somebody is there")
	}
	props.SetMust(manager, "IdleHint", false)
	if w.look(t.Context(), now); !w.Present(now, time.Minute) {
		t.Error("a session is in use, and nobody is there")
	}
	props.SetMust(manager, "IdleHint", true)
	props.SetMust(manager, "IdleSinceHint", uint64(now.Add(-5*time.Minute).UnixMicro()))
	w.look(t.Context(), now)
	if w.Present(now, 4*time.Minute) || !w.Present(now, 6*time.Minute) {
		t.Error("idle for five minutes is not taken as that")
	}
	props.SetMust(manager, "IdleSinceHint", uint64(1<<63)) // nonsense is no date in the future
	if w.look(t.Context(), now); !w.Present(now, time.Second) || w.last.Load() > now.UnixNano() {
		t.Error("a time in the future was taken")
	}
}

// A host whose logind does not answer is judged by its terminals; the log says so once.
func TestLogindIsSilent(t *testing.T) {
	address := startBus(t)
	w, log := watcherOn(t, address)
	for range 3 {
		w.look(t.Context(), time.Now())
	}
	if n := strings.Count(log.String(), "logind does not say"); n != 1 || w.Present(time.Now(), time.Hour) {
		t.Errorf("logged %d times: %s", n, log)
	}
	serveLogind(t, address).SetMust(manager, "IdleHint", false)
	if w.look(t.Context(), time.Now()); !w.Present(time.Now(), time.Minute) {
		t.Error("a logind that came later is not heard")
	}
	none, quiet := watcherOn(t, "unix:path="+filepath.Join(t.TempDir(), "none"))
	if none.look(t.Context(), time.Now()); none.last.Load() != 0 || quiet.Len() > 0 {
		t.Errorf("no bus at all: %s", quiet)
	}
}

// Typing into a real terminal counts.
func TestTerminals(t *testing.T) {
	script, err := exec.LookPath("script")
	if err != nil {
		t.Fatal(err)
	}
	w, _ := watcherOn(t, "unix:path=/nonexistent")
	w.devices = devices
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, script, "-qfc", "cat", "/dev/null") // a terminal that cat reads from
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close(); cancel(); _ = cmd.Wait() }()
	before := time.Now().Add(-10 * time.Second)
	for range 60 { // the time of access moves each eight seconds at most
		if _, err := in.Write([]byte("x\n")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		if w.look(ctx, time.Now()); w.terminals().After(before) {
			return
		}
	}
	t.Error("nobody saw the typing")
}
