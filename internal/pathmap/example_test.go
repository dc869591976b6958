package pathmap_test

import (
	"fmt"

	"qb/internal/pathmap"
)

// Only whole parts of a path are mapped.
func ExampleMap_Path() {
	m, err := pathmap.New([]string{"/vol/proj=/mnt/proj", `P:\=/mnt/p`})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range []string{"/vol/proj/sh010", "/vol/project", `P:\sh010`} {
		mapped, err := m.Path(path)
		fmt.Println(mapped, err)
	}
	// Output:
	// /mnt/proj/sh010 <nil>
	// /vol/project <nil>
	// /mnt/p/sh010 <nil>
}
