package feeds

import (
	"slices"
	"time"
)

// Notice says why one message or body was refused, or which warning it was accepted
// with. It holds no value that was sent.
type Notice struct {
	At        time.Time
	Refused   bool   // false: accepted with a warning
	ControlID string // MSH-10 of an HL7 message, or its pseudonym; "": none
	RequestID string // of an HTTP request; "": none
	Code      string // stable reason or warning
	Path      string // location of the fault; "": the whole message
}

// The bounds of stored notices.
const (
	NoticesKept = 100    // refusals of one feed, and as many warnings
	NoticeFeeds = 64     // feeds of a hospital that have notices, those with the newest
	noticeText  = 128    // bytes of a code or a path
	noticesHeld = 10_000 // in a Counter over all feeds, until they are handed on
)

// Cut returns the notice with code and path cut to their bounds.
func (n Notice) Cut() Notice {
	n.Code, n.Path = n.Code[:min(len(n.Code), noticeText)], n.Path[:min(len(n.Path), noticeText)]
	return n
}

// addNotices appends notices, drops the oldest beyond the bound of a feed, and
// returns how many more the sum has now.
func (s *Sum) addNotices(added []Notice) (more int) {
	before := len(s.Notices)
	s.Notices = append(s.Notices, added...)
	if len(s.Notices) > 2*NoticesKept {
		var kept [2]int // warnings, refusals
		newest := make([]Notice, 0, 2*NoticesKept)
		for _, n := range slices.Backward(s.Notices) {
			kind := 0
			if n.Refused {
				kind = 1
			}
			if kept[kind] < NoticesKept {
				kept[kind]++
				newest = append(newest, n)
			}
		}
		slices.Reverse(newest)
		s.Notices = newest
	}
	return len(s.Notices) - before
}
