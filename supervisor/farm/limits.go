package farm

import "time"

// Every list and wait of the farm has its limit here.
const (
	maxHosts = 100_000

	maxCarried       = 8     // of one job that are carried out and still shown
	defaultOrderRows = 2_000 // rows that one commit changes for large orders

	farmLockWait = 15 * time.Minute // of the farm's own lock of a host …
	farmLockMost = 4 * time.Hour    // … and its longest, after locks without an item done between
	fullWait     = 5 * time.Second  // after an agent's refusal for want of memory
	maxNameRunes = 255
	maxCPUs      = 1_000_000
)
