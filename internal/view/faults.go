package view

import (
	"fmt"
	"maps"
	"slices"
)

// PartitionFaults returns an error with the number of failing partitions, and why the first one
// fails.
func PartitionFaults(faults map[int32]error, all int) error {
	if len(faults) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(faults)))
	return fmt.Errorf("%d of %d partitions; partition %d: %w", len(faults), all, first, faults[first])
}
