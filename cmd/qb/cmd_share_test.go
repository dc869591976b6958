package main

import (
	"testing"

	"qb/cmd/qb/output"
)

// Each column of each listing has a member or a text.
func TestShareColumns(t *testing.T) {
	t.Parallel()
	showsAll(shareColumns)
	showsAll(shareSettingColumns)
	showsAll(creditColumns)
	showsAll(accountColumns)
	showsAll(pastColumns)
	showsAll(budgetColumns)
	showsAll(publicationColumns)
}

func showsAll[T any](columns []output.Column[T]) {
	for _, c := range columns {
		c.Of(*new(T)) // panics without a member
	}
}
