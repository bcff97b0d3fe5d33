package feeds

import (
	"slices"
	"time"
)

// Notice tells of one message, or body, why it was refused, or which warning it was
// taken with. It holds no value that was sent.
type Notice struct {
	At        time.Time
	Refused   bool   // else it was taken, with a warning
	ControlID string // of an HL7 message, or its pseudonym; "": none
	RequestID string // over HTTP; "": none that is told
	Code      string // stable
	Path      string // where; "": the whole
}

// The bounds of what is kept of notices.
const (
	NoticesKept = 100    // of a feed, refusals and warnings each
	NoticeFeeds = 64     // of a hospital, those with the newest notices
	noticeText  = 128    // bytes of code or path
	noticesHeld = 10_000 // of all feeds, until they are handed on
)

// Cut returns the notice with its texts within their bounds.
func (n Notice) Cut() Notice {
	n.Code, n.Path = n.Code[:min(len(n.Code), noticeText)], n.Path[:min(len(n.Path), noticeText)]
	return n
}

// addNotices appends notices and drops the oldest beyond the bound of a feed.
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
