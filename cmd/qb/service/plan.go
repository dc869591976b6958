package service

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/output"
	"qb/internal/statedir"
	"qb/smartshare"
	"qb/supervisor/share/planner"
	"qb/supervisor/wire/translate"
)

// maxSnapshotBytes bounds a snapshot; 100,000 running instances take about 15 MB.
const maxSnapshotBytes = 256 << 20

func newPlanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "plan FILE",
		Short: "Print how SmartShare would divide the slots of a snapshot",
		Long: "Read a snapshot of a farm, as qb snapshot prints it, and print how SmartShare would divide its slots,\n" +
			"which instances start on which hosts, which stop, which give way to a better priority,\n" +
			"and which host is kept for a job that fits nowhere, as JSON. The file - is standard input. No farm is changed.",
		Args: commandline.WantArgs(1, 1, "file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := readSnapshotFile(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			doc, err := api.ReadSnapshot(data)
			if err != nil {
				return api.Errorf(api.KindInvalid, "%s: %v", snapshotName(args[0]), err)
			}
			s := translate.SnapshotOf(&doc)
			text, err := json.MarshalIndent(translate.PlanDoc(&s, planner.Decide(&smartshare.Scratch{}, s)), "", "  ")
			if err != nil {
				return fmt.Errorf("writing JSON: %w", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), output.EscapeJSON(string(text)))
			return err
		},
	}
}

func snapshotName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

func readSnapshotFile(name string, stdin io.Reader) ([]byte, error) {
	if name != "-" {
		f, err := statedir.OpenNamed(name)
		if err != nil {
			return nil, fmt.Errorf("read the snapshot: %w", err)
		}
		defer f.Close()
		stdin = f
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxSnapshotBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the snapshot from %s: %w", snapshotName(name), err)
	}
	if len(data) > maxSnapshotBytes {
		return nil, api.Errorf(api.KindLimit, "%s: a snapshot has at most %d bytes", snapshotName(name), maxSnapshotBytes)
	}
	return data, nil
}
