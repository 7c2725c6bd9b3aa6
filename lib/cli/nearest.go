package cli

// nearest returns the option, dashes included, that name most likely meant: at most a third of its letters are wrong.
func (s *options) nearest(name string) string {
	best, fewest := "", len(name)/3+1
	for _, o := range s.list {
		for _, candidate := range o.names {
			if o.hidden || len(candidate) == 1 || len(name) == 1 || len(name) > 100 {
				continue
			}
			if d := distance(name, candidate); d < fewest {
				best, fewest = dashed(candidate), d
			}
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their neighbour to get from a to b
// (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
