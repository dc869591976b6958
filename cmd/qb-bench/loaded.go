package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
)

// newLoadedCommand is the program of the load-once jobs of `qb bench -real -loadonce`: it does nothing with its items.
func newLoadedCommand() *cobra.Command {
	return &cobra.Command{
		Use: "loaded", Short: "Be the program of a load-once job that does nothing with its items", Hidden: true,
		Args: commandline.WantArgs(0, 0, ""), RunE: func(*cobra.Command, []string) error { return takeItems() },
	}
}

func takeItems() error {
	conn, err := net.Dial("unix", os.Getenv("QB_WORK"))
	if err != nil {
		return fmt.Errorf("connecting to QB_WORK: %w", err)
	}
	defer conn.Close()
	out, in := json.NewEncoder(conn), json.NewDecoder(bufio.NewReader(conn))
	ask := func(r api.ProgramRequest) (reply api.ProgramReply, err error) {
		r.Version = api.ProgramVersion
		if err = out.Encode(r); err == nil {
			err = in.Decode(&reply)
		}
		return reply, err
	}
	for {
		reply, err := ask(api.ProgramRequest{Do: api.ProgramRequestWork, Wait: 10})
		if err != nil {
			return err
		}
		switch {
		case reply.Status == api.ProgramWaiting:
			continue
		case reply.Work == nil:
			return nil
		}
		report := api.ProgramRequest{Do: api.ProgramReportWork, Item: reply.Work.Item, Attempt: reply.Work.Attempt,
			Status: api.ProgramComplete}
		if reply, err = ask(report); err != nil || reply.Error != "" {
			return fmt.Errorf("reporting an item: %s %w", reply.Error, err)
		}
	}
}
