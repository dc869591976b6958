package find

// gone says whether a process has ended for sure. No farm runs on Windows.
func gone(int) bool { return true }
