// Package netns makes several machines of one: each machine is a set of Linux namespaces with a network, processes, a
// hostname, a machine id, a boot id and folders of its own, joined to the others by a virtual switch. Everything lives
// in an outer set of namespaces of the test's, so that the kernel removes processes, links and mounts with it, however
// the run ends. It needs root and the programs ip (iproute2) and nsenter (util-linux). Its tests run by `make netns`.
package netns
