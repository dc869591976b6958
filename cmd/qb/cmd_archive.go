package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
)

// newArchiveCommand is qbarchive.
func newArchiveCommand() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use: "archive JOB…", Short: "Print jobs as JSON that can be submitted again, with their state",
		Args: commandline.WantArgs(1, -1, "job id"),
		Long: "Print jobs as JSON that can be submitted again, with their state: own jobs, as commands and environments are in it, and for operators\n" +
			"those of all. qbsub -import FILE submits such a file as a new job. With -dir, each job becomes the file JOB.json in a folder.",
		Example: "  qbarchive 12 >shot.json\n  qbarchive -dir jobs 12 13\n  qbsub -import shot.json -priority 5",
		RunE: func(cmd *cobra.Command, words []string) error {
			farm := connect(cmd)
			for _, word := range words {
				if _, err := jobID(word); err != nil {
					return err
				}
				a, err := call[api.JobArchive](cmd.Context(), farm, api.ArchiveJob, api.Params{"job": word}, nil)
				if err != nil {
					return err
				}
				if folder != "" {
					err = writeArchive(filepath.Join(folder, word+".json"), a)
				} else {
					err = printArchive(cmd, a)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&folder, "dir", "", "write the files JOB.json in the folder `DIR` instead")
	return cmd
}

func printArchive(cmd *cobra.Command, a api.JobArchive) error {
	data, err := archiveBytes(a)
	if err == nil {
		_, err = cmd.OutOrStdout().Write(data)
	}
	return err
}
