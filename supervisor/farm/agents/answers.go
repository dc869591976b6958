package agents

// A sync gets two answers at most: the first as the response to the agent's sync before it, which was being held, and
// the last as the response to itself. Answers are numbered in the order in which they are given: the first one to a
// sync is later than the last one to any sync before, because no sync is answered once a later one was read.

// FirstAnswer is the number of the answer to a sync that the response to a former one carries.
func FirstAnswer(sequence uint64) uint64 { return 2 * sequence }

// LastAnswer is the number of the answer to a sync that is the response to it.
func LastAnswer(sequence uint64) uint64 { return 2*sequence + 1 }
