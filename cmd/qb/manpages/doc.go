// Package manpages writes the manual pages of all commands, made of their help.
package manpages
