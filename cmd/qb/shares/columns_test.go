package shares

import (
	"testing"

	"qb/cmd/qb/output"
)

// Each column of each listing has a member or a text.
func TestColumnsHaveMembers(t *testing.T) {
	t.Parallel()
	shows(shareColumns)
	shows(settingColumns)
	shows(creditColumns)
	shows(accountColumns)
	shows(pastColumns)
	shows(budgetColumns)
	shows(publicationColumns)
}

func shows[T any](columns []output.Column[T]) {
	for _, c := range columns {
		c.Of(*new(T)) // panics without a member
	}
}
