package service

import (
	"os"
	"os/signal"
	"reflect"
	"strings"
	"syscall"

	"qb/cmd/qb/config"
	"qb/supervisor/serve"
)

// onHangup catches SIGHUP, which would else end a service, from now on.
func onHangup() <-chan os.Signal {
	hangup := make(chan os.Signal, 1) // a second signal while one waits is the same request
	signal.Notify(hangup, syscall.SIGHUP)
	return hangup
}

// reload reads the configuration again in the way it was read at the start: the file that is found now,
// the environment and the options of the process.
func (c *service) reload() (serve.Reloaded, error) {
	again, err := c.again()
	if err != nil {
		return serve.Reloaded{}, err
	}
	central, err := config.Workers(again.WorkerConfigFile)
	if err != nil {
		return serve.Reloaded{}, err
	}
	out := serve.Reloaded{Config: again.SupervisorKeys, Workers: central, File: again.File}
	var workers []string
	was, is := reflect.ValueOf(c.WorkerKeys), reflect.ValueOf(again.WorkerKeys)
	for n := range is.NumField() {
		if key := is.Type().Field(n).Tag.Get("toml"); key != "" &&
			!reflect.DeepEqual(was.Field(n).Interface(), is.Field(n).Interface()) {
			workers = append(workers, key)
		}
	}
	if len(workers) > 0 {
		out.Remarks = append(out.Remarks, strings.Join(workers, ", ")+": workers read it when they start")
	}
	return out, nil
}
