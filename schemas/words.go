package schemas

import (
	"svc/acuity"
	"svc/acuity/catalogue"
	"svc/acuity/codes"
)

// The greatest number of each enumeration. The symbols in the schema have the numbers of the
// domain's constants; a test counts them.
const (
	lastEventType     = uint8(acuity.A13)
	lastPrecision     = uint8(acuity.Year)
	lastDiagnosisMode = uint8(acuity.DiagnosisClear)
	lastSignalKind    = uint8(catalogue.KindCondition)
	lastSignalStatus  = uint8(acuity.SignalRetracted)
	lastValueKind     = uint8(codes.ValueUnreadable)
	lastComparator    = uint8(codes.GreaterOrEqual)
	lastRoomStatus    = uint8(acuity.RoomBlocked)
	lastTristate      = uint8(acuity.Yes)
	lastCause         = uint8(acuity.CauseTime)
	lastOutcome       = uint8(acuity.Time)
	lastEffectKind    = uint8(acuity.RoomRescored)
	lastLevel         = uint8(acuity.LevelRed)
	lastColor         = uint8(acuity.ColorRed)
	lastAxis          = uint8(acuity.AxisSkill)
	lastEvidenceKind  = uint8(acuity.ByCensus)
	lastStageClass    = uint8(acuity.StageCoupletCesarean)
	lastArrivalKind   = uint8(acuity.ArrivesOther)
)
