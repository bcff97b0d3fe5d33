package schemas

// Partition returns the partition of a record in a topic with n > 0 partitions. It is Java's
// murmur2 of the hospital part of the key, as Kafka's default partitioner computes it. So all
// records of a hospital go together, in all topics with the same number of partitions.
func Partition(key []byte, n int32) int32 {
	return int32(murmur2(HospitalOf(key))&0x7fffffff) % n
}

// murmur2 is org.apache.kafka.common.utils.Utils.murmur2.
func murmur2(b []byte) uint32 {
	const (
		seed = 0x9747b28c
		m    = 0x5bd1e995
		r    = 24
	)
	h := seed ^ uint32(len(b)) //nolint:gosec // as in Java, where a length has 31 bits
	for ; len(b) >= 4; b = b[4:] {
		k := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
		k *= m
		k ^= k >> r
		k *= m
		h *= m
		h ^= k
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(b[0])
		h *= m
	}
	h ^= h >> 13
	h *= m
	h ^= h >> 15
	return h
}
