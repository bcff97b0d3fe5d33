package registry

// GrowLittle makes room in a full list for one more, and for a quarter of its length. A
// hospital keeps much, and lists that double their capacity leave half of it unused.
func GrowLittle[T any](list []T) []T {
	n := len(list)
	if n < cap(list) {
		return list
	}
	return append(make([]T, 0, n+n/4+1), list...)
}
