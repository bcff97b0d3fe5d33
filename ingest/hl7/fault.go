package hl7

import "strconv"

// Name returns code and condition of a fault, as in the table of docs/hl7.md: "AE 101".
func (f *Fault) Name() string { return string(f.Code) + " " + strconv.Itoa(f.Condition) }

// Place returns where the fault is, in the form of warnings: PV1-19.
func (f *Fault) Place() string { return position{segment: f.Segment, field: f.Field}.String() }
