// Package joborder has qbjoborder: in which order jobs would go to a host, as the supervisor says it.
//
// It must never work out an order by itself.
package joborder
