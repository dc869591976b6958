package units_test

import (
	"fmt"
	"time"

	"qb/internal/units"
)

// A number without a unit is taken as the second argument says.
func ExampleParseSize() {
	for _, text := range []string{"512", "1.5GB", "2 TB"} {
		bytes, err := units.ParseSize(text, units.MiB)
		fmt.Println(units.Size(bytes), err)
	}
	// Output:
	// 512 MiB <nil>
	// 1.5 GiB <nil>
	// 2 TiB <nil>
}

func ExampleParseSpan() {
	for _, text := range []string{"90", "1h30m", "1d12h"} {
		span, err := units.ParseSpan(text, time.Second)
		fmt.Println(span, err)
	}
	// Output:
	// 1m30s <nil>
	// 1h30m0s <nil>
	// 36h0m0s <nil>
}
