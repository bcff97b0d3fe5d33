package acuity

// Factor is a row of the catalogue: a primary factor (what kind of patient) or
// a modifier (what is added to it). The zero value is no factor. The number is
// an index for speed; only the id is ever written or sent.
type Factor uint8
