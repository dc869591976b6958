// Package itemvalues is what the items of a job took: one value for each item, how these spread, and which items stand out.
//
// Values have three digits, as more are not seen and take more bytes. Spread and outliers are of complete items alone: one that
// failed says nothing of how long the work takes.
package itemvalues
