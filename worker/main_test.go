package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"qb/api"
)

// The test binary is also the shim, an agent that can be killed, and a few programs that items run.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "shim":
			os.Exit(ShimMain(os.Args[2:]))
		case "agent":
			os.Exit(agentMain(os.Args[2]))
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
	var c Config
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
