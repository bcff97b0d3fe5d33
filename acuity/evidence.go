package acuity

// episode is everything that is said about one patient, or about one room that
// only clinical ingest knows: what evidence is made of. The order within each
// list means nothing.
type episode struct {
	signals   []Heard     // clinical statements
	diagnoses []diagnosed // still standing, of all feeds
	listed    []Listed    // modifiers that the newest census lists
	primaries []Evidence  // by ADT, census and site map; with those of the newborns
	babies    uint8       // of a multiple birth, as ADT says; 0 unknown
}
