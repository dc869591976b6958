// Package reads bounds and repeats what the supervisor reads of the database, and tells the log once of each outage.
package reads
