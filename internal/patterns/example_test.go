package patterns_test

import (
	"fmt"

	"qb/internal/patterns"
)

// What the output of a renderer tells: how far it is, and what it has written.
func ExampleWatch_Look() {
	w, err := patterns.New(patterns.Rules{Progress: []string{`(\d+)%`}, OutputPaths: []string{`Saved: (\S+)`}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range []string{"Tile 1, 40%", "Saved: /out/0001.exr"} {
		w.Look(patterns.Piece{Text: []byte(line)})
	}
	fmt.Println(w.Progress(), w.OutputPaths())
	// Output: 40 [/out/0001.exr]
}
