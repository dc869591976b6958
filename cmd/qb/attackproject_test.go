package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestAttackProject: neither qb.conf nor an archive in the folder of an unpacked project has what the shell's environment holds sent.
func TestAttackProject(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Files: []string{"testdata/attack/project.txtar"},
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir)
			return nil
		},
	})
}
