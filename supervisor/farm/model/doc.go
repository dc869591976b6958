// Package model holds the farm's jobs, hosts and instances in memory: what they are, what they hold of each other, and
// what follows from that by counting. It decides nothing and writes no rows; package farm does.
//
// A Job has Instances on Hosts. An Instance always has a live attempt, from Attach to Detach. What is counted of
// instances, by job and by host, is rebuilt after Touch.
package model
