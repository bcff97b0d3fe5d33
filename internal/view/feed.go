package view

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"svc/internal/feeds"
)

//go:embed feed.lua
var feedSource string

var feedScript = redis.NewScript(feedSource)

// feedsKept is how long a feed is listed after its last message.
const feedsKept = 7 * 24 * time.Hour

// Feeds keeps the counters of the feeds in Redis. If Redis loses its data, the counters are lost.
type Feeds struct {
	view     *View
	numbered atomic.Int64 // number of the last notice
}

// Feeds returns the counters of the feeds.
func (b *View) Feeds() *Feeds {
	f := &Feeds{view: b}
	f.numbered.Store(rand.Int64N(1 << 48)) //nolint:gosec // not secret; separates the notices of the instances that write to one list
	return f
}

// AddFeeds adds counts to the buckets of the current time, with one script for each hospital. It
// returns the counts that it could not add.
func (f *Feeds) AddFeeds(ctx context.Context, sums map[feeds.Feed]*feeds.Sum) (left map[feeds.Feed]*feeds.Sum, err error) {
	return f.AddFeedsAt(ctx, f.view.now(), sums)
}

// AddFeedsAt adds counts to the buckets of the given time. Sums must be added in the order of their times, so that
// the silence between two messages is known. The result contains the counts that could not be added.
func (f *Feeds) AddFeedsAt(ctx context.Context, now time.Time, sums map[feeds.Feed]*feeds.Sum) (left map[feeds.Feed]*feeds.Sum, err error) {
	b := f.view
	byHospital := map[string][]feeds.Feed{}
	for one := range sums {
		byHospital[one.Hospital] = append(byHospital[one.Hospital], one)
	}
	for hospital, all := range byHospital {
		keys := []string{b.feedsKey(hospital)}
		var buckets, keep []any
		for _, l := range feeds.Levels() {
			keys = append(keys, b.blockKey(hospital, l, now))
			buckets = append(buckets, now.UnixMilli()/l.Width.Milliseconds())
			keep = append(keep, l.Keep.Milliseconds())
		}
		args := append(append(buckets, keep...), feedsKept.Milliseconds())
		for _, one := range all {
			s := sums[one]
			args = append(args, feedName(one), milliseconds(s.FirstReceived), milliseconds(s.LastReceived),
				milliseconds(s.LastApplied), milliseconds(s.LastEvent),
				s.Received, s.Applied, s.Duplicates, s.Ignored, s.Rejected, s.Warnings,
				s.Changed, s.Unchanged, s.Unused, s.Outside)
		}
		_, fault := b.runScript(ctx, feedScript, keys, args...)
		counted := fault == nil
		if counted {
			fault = f.addNotices(ctx, hospital, all, sums, now)
		}
		if fault != nil {
			err = fmt.Errorf("add to feeds: %w", fault)
			if left == nil {
				left = map[feeds.Feed]*feeds.Sum{}
			}
			for _, one := range all {
				if left[one] = sums[one]; counted {
					left[one] = &feeds.Sum{Notices: sums[one].Notices}
				}
			}
		}
	}
	return left, err
}

func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// List returns the feeds of a hospital that received a message within feedsKept, ordered by channel and source. It
// makes one round trip.
func (f *Feeds) List(ctx context.Context, hospital string) ([]feeds.History, error) {
	b := f.view
	now := b.now()
	n := b.nodeOf(ctx, b.feedsKey(hospital))
	pipe := n.redis.Pipeline()
	newest := pipe.HGetAll(ctx, b.feedsKey(hospital))
	var blocks [3][]*redis.MapStringStringCmd
	for i, l := range feeds.Levels() {
		for _, at := range []time.Time{now.Add(-l.Block), now} {
			blocks[i] = append(blocks[i], pipe.HGetAll(ctx, b.blockKey(hospital, l, at)))
		}
	}
	if err := b.exec(ctx, n, pipe); err != nil {
		return nil, err
	}
	all := map[string]*feeds.History{}
	for field, value := range newest.Val() {
		name := field[1:]
		h := all[name]
		if h == nil {
			channel, source, _ := strings.Cut(name, "/")
			h = &feeds.History{Feed: feeds.Feed{Hospital: hospital, Channel: channel, Source: source}}
			all[name] = h
		}
		ms, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read feeds: %w", err)
		}
		at := map[byte]*time.Time{'r': &h.LastReceived, 'a': &h.LastApplied, 'e': &h.LastEvent}[field[0]]
		if at != nil {
			*at = time.UnixMilli(ms).UTC()
		}
	}
	for i, l := range feeds.Levels() {
		for _, block := range blocks[i] {
			for field, value := range block.Val() {
				number, rest, _ := strings.Cut(field, "/")
				h := all[rest]
				if h == nil {
					continue
				}
				bucket, err := readBucket(number, value, l)
				if err != nil {
					return nil, fmt.Errorf("read feeds: %w", err)
				}
				h.Buckets[i] = append(h.Buckets[i], bucket)
			}
		}
	}
	list := make([]feeds.History, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if h := all[name]; now.Sub(h.LastReceived) < feedsKept {
			list = append(list, *h)
		}
	}
	return list, nil
}

func readBucket(number, value string, l feeds.Level) (b feeds.Bucket, err error) {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return b, err
	}
	var gap int64
	fields := []any{
		&b.Received, &b.Applied, &b.Duplicates, &b.Ignored, &b.Rejected, &b.Warnings, &gap,
		&b.Changed, &b.Unchanged, &b.Unused, &b.Outside, // missing in records from an earlier release
	}
	_, err = fmt.Sscan(value, fields[:min(len(strings.Fields(value)), len(fields))]...)
	b.At, b.Gap = time.UnixMilli(n*l.Width.Milliseconds()), time.Duration(gap)*time.Millisecond
	return b, err
}

//go:embed notices.lua
var noticesSource string

var noticesScript = redis.NewScript(noticesSource)

// Refusals, warnings and routine warnings are stored separately, so that many notices of one kind do not displace the
// others.
const (
	refusals = "r"
	warnings = "w"
	routine  = "i"
)

// noticeKinds are the kinds of a feed's notices, in the order that notices.lua uses.
var noticeKinds = []string{refusals, warnings, routine}

// keptNotice is a notice in a sorted set in Redis. Its score is the time of the notice in Unix ms.
type keptNotice struct {
	Number    int64  `json:"n"` // serial number, so that equal notices remain distinct
	ControlID string `json:"c,omitempty"`
	RequestID string `json:"r,omitempty"`
	Code      string `json:"k"`
	Path      string `json:"p,omitempty"`
	Event     string `json:"e,omitempty"`
}

// addNotices adds the notices of some feeds of a hospital, in one step.
func (f *Feeds) addNotices(ctx context.Context, hospital string, all []feeds.Feed, sums map[feeds.Feed]*feeds.Sum, now time.Time) error {
	args := []any{now.UnixMilli(), feedsKept.Milliseconds(), feeds.NoticesKept, feeds.NoticeFeeds}
	head := len(args)
	for _, one := range all {
		lists := map[string][]any{}
		for _, n := range sums[one].Notices {
			kind := warnings
			switch {
			case n.Refused:
				kind = refusals
			case n.Routine:
				kind = routine
			}
			text, err := json.Marshal(keptNotice{f.numbered.Add(1), n.ControlID, n.RequestID, n.Code, n.Path, n.Event})
			if err != nil {
				return err
			}
			lists[kind] = append(lists[kind], n.At.UnixMilli(), string(text))
		}
		if len(lists) == 0 {
			continue
		}
		args = append(args, feedName(one))
		for _, kind := range noticeKinds {
			args = append(append(args, len(lists[kind])), lists[kind]...)
		}
	}
	if len(args) == head {
		return nil
	}
	_, err := f.view.runScript(ctx, noticesScript, []string{f.view.noticesKey(hospital)}, args...)
	return err
}

// feedName returns a name of a feed that is unique within its hospital.
func feedName(f feeds.Feed) string { return f.Channel + "/" + f.Source }

// Notices returns the newest notices of a feed, newest first: refusals, warnings, and routine warnings.
func (f *Feeds) Notices(ctx context.Context, of feeds.Feed) (feeds.Notices, error) {
	n := f.view.nodeOf(ctx, f.view.noticesKey(of.Hospital))
	pipe := n.redis.Pipeline()
	key := f.view.noticesKey(of.Hospital) + ":" + feedName(of) + ":"
	lists := map[string]*redis.ZSliceCmd{}
	for _, kind := range noticeKinds {
		by := &redis.ZRangeBy{Max: "+inf", Min: "-inf", Count: feeds.NoticesKept}
		lists[kind] = pipe.ZRevRangeByScoreWithScores(ctx, key+kind, by)
	}
	if err := f.view.exec(ctx, n, pipe); err != nil {
		return feeds.Notices{}, err
	}
	var all feeds.Notices
	for kind, to := range map[string]*[]feeds.Notice{refusals: &all.Refused, warnings: &all.Warned, routine: &all.Routine} {
		list, err := readNotices(lists[kind].Val(), kind)
		if err != nil {
			return feeds.Notices{}, err
		}
		*to = list
	}
	return all, nil
}

func readNotices(all []redis.Z, kind string) ([]feeds.Notice, error) {
	list := make([]feeds.Notice, len(all))
	for i, z := range all {
		var n keptNotice
		text, _ := z.Member.(string) //nolint:errcheck // an empty string fails to decode
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&n); err != nil {
			return nil, fmt.Errorf("read notices: %w", err)
		}
		list[i] = feeds.Notice{
			At: time.UnixMilli(int64(z.Score)).UTC(), Refused: kind == refusals, Routine: kind == routine,
			ControlID: n.ControlID, RequestID: n.RequestID, Code: n.Code, Path: n.Path, Event: n.Event,
		}
	}
	return list, nil
}
