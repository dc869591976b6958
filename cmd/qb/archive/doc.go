// Package archive reads and writes jobs as files: qb's own JSON, and the XML archives (.xja) of Qube!. It has the command qbarchive.
//
// It must never trust a file: its size and depth are bounded, and a document that declares entities is refused.
package archive
