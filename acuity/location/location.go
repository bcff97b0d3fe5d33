// Package location resolves a location as sent to a room.
//
// A [Table] has the labels of rooms, the rows that administrators keep, and the locations
// that events use. Its answers depend on what it was told, not on the order. Who is in a
// room is not its concern.
package location
