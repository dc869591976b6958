package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/cgroup"
	"qb/worker/settings"
	"qb/worker/shim"
)

// The test binary is also the shim, an agent that can be killed, and a few programs that items run.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "shim":
			os.Exit(shim.Main(os.Args[2:]))
		case "agent":
			os.Exit(agentMain(os.Args[2]))
		case "home": // print where a group is made from here, and who limits memory there
			c := cgroup.New([]string{cgroup.V2}, "home")
			k := cgroup.NewCounters(c, "home")
			fmt.Println(filepath.Dir(c.Folder), cgroup.MemoryEnforcer(k))
			c.Remove()
			k.Remove()
			os.Exit(0)
		case "mark": // a control group as left to us, for tools/cgroup2
			if err := unix.Setxattr(os.Args[2], "user.delegate", []byte("1"), 0); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		case "hold": // so many megabytes, say so by making a file, and let go when FILE.go is there
			megabytes, _ := strconv.Atoi(os.Args[2])
			held := make([]byte, megabytes<<20)
			for i := range held {
				held[i] = 1
			}
			os.WriteFile(os.Args[3], held[:1], 0o600)
			for _, err := os.Stat(os.Args[3] + ".go"); err != nil; _, err = os.Stat(os.Args[3] + ".go") {
				time.Sleep(10 * time.Millisecond)
			}
			os.Exit(int(held[len(held)-1]) - 1)
		case "program": // of a load-once job
			os.Exit(programMain(os.Args[2]))
		case "hostile": // an item that tries what it can against these processes and this folder, and says what succeeded
			os.Exit(hostile(os.Args[2], os.Args[3:]))
		case "exit": // with so many megabytes, page by page, to give back, and say so by making a file
			megabytes, _ := strconv.Atoi(os.Args[2])
			held, err := unix.Mmap(-1, 0, megabytes<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			if err != nil || unix.Madvise(held, unix.MADV_NOHUGEPAGE) != nil {
				os.Exit(3)
			}
			for i := 0; i < len(held); i += 4096 {
				held[i] = 1
			}
			os.WriteFile(os.Args[3], held[:1], 0o600)
			os.Exit(0)
		case "eat": // so many megabytes, for so many milliseconds, and then make a file
			megabytes, _ := strconv.Atoi(os.Args[2])
			milliseconds, _ := strconv.Atoi(os.Args[3])
			eaten := make([]byte, megabytes<<20)
			for i := range eaten {
				eaten[i] = byte(i)
			}
			time.Sleep(time.Duration(milliseconds) * time.Millisecond)
			if len(os.Args) > 4 {
				os.WriteFile(os.Args[4], eaten[:1], 0o600)
			}
			time.Sleep(time.Duration(milliseconds) * time.Millisecond)
			os.Exit(int(eaten[0]))
		}
	}
	os.Exit(m.Run())
}

func agentMain(config string) int {
	var c settings.Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := Run(ctx, c, testOptions(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func testOptions(handler slog.Handler) Options {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Options{Log: slog.New(handler), ShimCommand: []string{self, "shim"}}
}

var discard = slog.DiscardHandler

var discardLog = slog.New(discard)

func ignoringContext(send func(api.LogChunk) (int64, error)) func(context.Context, api.LogChunk) (int64, error) {
	return func(_ context.Context, c api.LogChunk) (int64, error) { return send(c) }
}
