package memory

import "math/bits"

// A sketch has one bit for each component of a vector. The bit is set if the component is above its
// average over all memories. If two sketches differ in few bits, their vectors point in a similar
// direction. Comparing sketches is about fifty times faster than comparing vectors. A search
// therefore first compares sketches, and then compares only the likeliest vectors exactly.

const (
	// sketchFrom is the minimum number of memories for which sketches save time.
	sketchFrom = 2048
	// candidates is the number of vectors that are compared exactly. The search result is exact if
	// the best matches are among these vectors.
	candidates = 768
)

// sketches contains the sketches for one state of the vectors. The zero value contains no sketches.
type sketches struct {
	mean  []float64 // average of each component over the stored vectors
	words int       // length of one sketch
	bits  []uint64  // all sketches, one after another
}

// sketch computes the sketches of vectors. If the vectors differ in length or are too few, it
// returns none.
func sketch(all []vector) sketches {
	if len(all) < sketchFrom || len(all[0].packed) < 5 {
		return sketches{}
	}
	n := len(all[0].packed) - 4
	s := sketches{mean: make([]float64, n), words: (n + 63) / 64}
	for i := range all {
		if len(all[i].packed) != n+4 {
			return sketches{}
		}
		for d, b := range all[i].packed[4:] {
			s.mean[d] += float64(int8(b))
		}
	}
	for d := range s.mean {
		s.mean[d] /= float64(len(all))
	}
	s.bits = make([]uint64, 0, len(all)*s.words)
	for i := range all {
		s.bits = s.appendTo(s.bits, all[i].packed)
	}
	return s
}

func (s *sketches) appendTo(out []uint64, packed []byte) []uint64 {
	numbers := packed[4:]
	for from := 0; from < len(numbers); from += 64 {
		var word uint64
		for i, b := range numbers[from:min(from+64, len(numbers))] {
			if float64(int8(b)) > s.mean[from+i] {
				word |= 1 << i
			}
		}
		out = append(out, word)
	}
	return out
}

// likeliest returns the indices of the vectors that are worth an exact comparison. nil means all
// vectors.
func (s *sketches) likeliest(packed []byte, n int) []int {
	if s.words == 0 || len(packed) != len(s.mean)+4 {
		return nil
	}
	query := s.appendTo(nil, packed)
	far := make([]uint16, len(s.bits)/s.words)
	count := make([]int, len(s.mean)+1)
	for i := range far {
		d := 0
		for w, x := range s.bits[i*s.words : (i+1)*s.words] {
			d += bits.OnesCount64(x ^ query[w])
		}
		far[i] = uint16(min(d, len(count)-1))
		count[far[i]]++
	}
	limit, sum := 0, 0
	for limit < len(count)-1 && sum+count[limit] < n {
		sum += count[limit]
		limit++
	}
	out := make([]int, 0, sum+count[limit])
	for i, d := range far {
		if int(d) <= limit {
			out = append(out, i)
		}
	}
	return out
}
