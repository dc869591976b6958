// Package page computes what the page shows beside rows. It is apart from HTTP, so that each part is tested by itself.
//
//	SlotMap      what every slot does, as columns: 160,000 slots of 10,000 hosts take less than 250 KB, compressed
//	Column       what the items of a job took: one value per item, the spread, the outliers
//	SearchLog    the lines of an attempt's output that have a text, in bounded time and memory
//	Timeline     who had how many instances: samples of the last week, in memory
//
// Nothing here may make up a value for what is not known: a gap in a timeline is shown as a gap.
//
// Read slotmap.go, itemvalues.go, search.go, timeline.go.
package page
