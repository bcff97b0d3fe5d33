package acuity

// placement is where a location is.
type placement struct {
	Kind placementKind
	Room int32 // of inRoom
}

// placementKind is what a location turned out to be.
type placementKind uint8

const (
	nowhere     placementKind = iota // nothing was said: unplaced
	inRoom                           // a room of this unit
	outside                          // a place of another unit: neither in a room nor unplaced (X5)
	withoutRoom                      // a unit without a room: unplaced, with a warning (P3)
)

// siteLocation is an administrator's entry of the location table.
type siteLocation struct {
	PointOfCare, Room, Bed string // Room and Bed may be empty: the whole of it
	HasRoom                bool
	RoomID                 int32
	Outside                bool
	Primary                Factor // site map: the primary of whoever is placed here; 0: none
}
