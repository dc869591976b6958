package openjdjobs

import (
	"fmt"
	"math"

	"qb/openjd"
	"qb/supervisor/farm/profiles"
)

// Chunks of a step may be meant to take a time, targetRuntimeSeconds. What a chunk of some size took in earlier jobs is
// learned by profile, and each size has a profile of its own.

// mostChunk bounds the size of a chunk that is made for its time.
const mostChunk = 1_000_000

// chunkSizes are by step the sizes with which chunks take about the time that they should, as far as is known.
func (j *Job) chunkSizes(made *openjd.Job) map[string]int64 {
	sizes := map[string]int64{}
	var seconds map[string]float64
	for _, s := range made.Steps {
		c := s.Space.Chunk()
		if c.Seconds == 0 {
			continue
		}
		if seconds == nil {
			seconds = j.site.Seconds()
		}
		if size := j.chunkSize(made, s, seconds); size != c.Size {
			sizes[s.Name] = size
			j.remark("step %s: chunks have %d values instead of %d, so that one takes about %d s", s.Name, size, c.Size,
				c.Seconds)
		}
	}
	return sizes
}

// chunkSize begins with the template's size, and goes on to the size that is better by what was learned with it.
func (j *Job) chunkSize(made *openjd.Job, s *openjd.Step, learned map[string]float64) int64 {
	c := s.Space.Chunk()
	size := c.Size
	for range 4 { // from size to size the guess gets better
		seconds := learned[j.profile(made, s, size)]
		if seconds <= 0 {
			break
		}
		better := math.Round(float64(size) * float64(c.Seconds) / seconds)
		next := int64(max(1, min(better, mostChunk, float64(s.Space.Values()))))
		if math.Abs(float64(next-size)) <= float64(size)/10 {
			break
		}
		size = next
	}
	return size
}

// profile is that of a step's job. The job's own may be given.
func (j *Job) profile(made *openjd.Job, s *openjd.Step, size int64) string {
	name := profiles.Name(s.Name, made.Name)
	if j.request.Job != nil && j.request.Job.Profile != "" {
		name = j.request.Job.Profile
	}
	if s.Space.Chunk().Seconds > 0 {
		name = clip(fmt.Sprintf("%d:%s", size, name))
	}
	return name
}
