package view

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"svc/internal/feeds"
)

//go:embed feed.lua
var feedSource string

var feedScript = redis.NewScript(feedSource)

// feedsKept is how long a feed is listed after its last message.
const feedsKept = 7 * 24 * time.Hour

func (b *View) feedsKey(hospital string) string {
	return b.key(b.cfg.Partition(hospital), "feeds:"+hospital)
}

func (b *View) blockKey(hospital string, l feeds.Level, at time.Time) string {
	return b.feedsKey(hospital) + ":" + l.Name + strconv.FormatInt(at.UnixMilli()/l.Block.Milliseconds(), 10)
}

// AddFeeds adds counts to the buckets of the current time, with one script for each hospital. It
// returns the counts that it could not add. They lie in Redis beside the view, and are lost with
// it.
func (b *View) AddFeeds(ctx context.Context, sums map[feeds.Feed]*feeds.Sum) (left map[feeds.Feed]*feeds.Sum, err error) {
	byHospital := map[string][]feeds.Feed{}
	for f := range sums {
		byHospital[f.Hospital] = append(byHospital[f.Hospital], f)
	}
	now := b.cfg.Now()
	for hospital, all := range byHospital {
		keys := []string{b.feedsKey(hospital)}
		var buckets, keep []any
		for _, l := range feeds.Levels() {
			keys = append(keys, b.blockKey(hospital, l, now))
			buckets = append(buckets, now.UnixMilli()/l.Width.Milliseconds())
			keep = append(keep, l.Keep.Milliseconds())
		}
		args := append(append(buckets, keep...), feedsKept.Milliseconds())
		for _, f := range all {
			s := sums[f]
			args = append(args, feedName(f), milliseconds(s.FirstReceived), milliseconds(s.LastReceived),
				milliseconds(s.LastApplied), milliseconds(s.LastEvent),
				s.Received, s.Applied, s.Duplicates, s.Ignored, s.Rejected, s.Warnings)
		}
		fault := b.call(ctx, func() error { return b.script(ctx, feedScript, keys, args...) })
		counted := fault == nil
		if counted {
			fault = b.addNotices(ctx, hospital, all, sums, now)
		}
		if fault != nil {
			err = fmt.Errorf("add to feeds: %w", fault)
			if left == nil {
				left = map[feeds.Feed]*feeds.Sum{}
			}
			for _, f := range all {
				if left[f] = sums[f]; counted {
					left[f] = &feeds.Sum{Notices: sums[f].Notices}
				}
			}
		}
	}
	return left, err
}

// script runs a script. If Redis has lost it in a restart, script loads it and runs it again.
func (b *View) script(ctx context.Context, s *redis.Script, keys []string, args ...any) error {
	err := s.EvalSha(ctx, b.redis, keys, args...).Err()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = s.Load(ctx, b.redis).Err(); err == nil {
			err = s.EvalSha(ctx, b.redis, keys, args...).Err()
		}
	}
	return err
}

func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Feeds returns the feeds of a hospital by channel and source, in one round trip.
func (b *View) Feeds(ctx context.Context, hospital string) ([]feeds.History, error) {
	now := b.cfg.Now()
	pipe := b.redis.Pipeline()
	newest := pipe.HGetAll(ctx, b.feedsKey(hospital))
	var blocks [3][]*redis.MapStringStringCmd
	for i, l := range feeds.Levels() {
		for _, at := range []time.Time{now.Add(-l.Block), now} {
			blocks[i] = append(blocks[i], pipe.HGetAll(ctx, b.blockKey(hospital, l, at)))
		}
	}
	if err := b.call(ctx, func() error { _, err := pipe.Exec(ctx); return err }); err != nil {
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
	_, err = fmt.Sscan(value, &b.Received, &b.Applied, &b.Duplicates, &b.Ignored, &b.Rejected, &b.Warnings, &gap)
	b.At, b.Gap = time.UnixMilli(n*l.Width.Milliseconds()), time.Duration(gap)*time.Millisecond
	return b, err
}

//go:embed notices.lua
var noticesSource string

var noticesScript = redis.NewScript(noticesSource)

// noticesKey is the key of the set of feeds of a hospital that have notices. The keys of the
// notices of a feed begin with it.
func (b *View) noticesKey(hospital string) string { return b.feedsKey(hospital) + ":notices" }

// Refusals and warnings are kept apart, so that many of one kind do not push out the
// other.
const (
	refusals = "r"
	warnings = "w"
)

// keptNotice is a notice in Redis. Its score is the time in ms.
type keptNotice struct {
	Number    int64  `json:"n"` // a serial number, so that equal notices stay distinct
	ControlID string `json:"c,omitempty"`
	RequestID string `json:"r,omitempty"`
	Code      string `json:"k"`
	Path      string `json:"p,omitempty"`
}

// addNotices adds the notices of some feeds of a hospital, in one step.
func (b *View) addNotices(ctx context.Context, hospital string, all []feeds.Feed, sums map[feeds.Feed]*feeds.Sum, now time.Time) error {
	args := []any{now.UnixMilli(), feedsKept.Milliseconds(), feeds.NoticesKept, feeds.NoticeFeeds}
	head := len(args)
	for _, f := range all {
		lists := map[string][]any{}
		for _, n := range sums[f].Notices {
			kind := warnings
			if n.Refused {
				kind = refusals
			}
			text, err := json.Marshal(keptNotice{b.numbered.Add(1), n.ControlID, n.RequestID, n.Code, n.Path})
			if err != nil {
				return err
			}
			lists[kind] = append(lists[kind], n.At.UnixMilli(), string(text))
		}
		if len(lists) == 0 {
			continue
		}
		args = append(args, feedName(f))
		for _, kind := range []string{refusals, warnings} {
			args = append(append(args, len(lists[kind])), lists[kind]...)
		}
	}
	if len(args) == head {
		return nil
	}
	return b.call(ctx, func() error { return b.script(ctx, noticesScript, []string{b.noticesKey(hospital)}, args...) })
}

// feedName returns the name of a feed within its hospital.
func feedName(f feeds.Feed) string { return f.Channel + "/" + f.Source }

// Notices returns the newest notices of a feed, newest first: refusals, and warnings.
func (b *View) Notices(ctx context.Context, f feeds.Feed) (refused, warned []feeds.Notice, err error) {
	pipe := b.redis.Pipeline()
	key := b.noticesKey(f.Hospital) + ":" + feedName(f) + ":"
	list := func(kind string) *redis.ZSliceCmd {
		return pipe.ZRevRangeByScoreWithScores(ctx, key+kind, &redis.ZRangeBy{Max: "+inf", Min: "-inf", Count: feeds.NoticesKept})
	}
	first, second := list(refusals), list(warnings)
	if err = b.call(ctx, func() error { _, fault := pipe.Exec(ctx); return fault }); err != nil {
		return nil, nil, err
	}
	if refused, err = readNotices(first.Val(), true); err == nil {
		warned, err = readNotices(second.Val(), false)
	}
	return refused, warned, err
}

func readNotices(all []redis.Z, refused bool) ([]feeds.Notice, error) {
	list := make([]feeds.Notice, len(all))
	for i, z := range all {
		var n keptNotice
		text, _ := z.Member.(string) //nolint:errcheck // an empty text fails to decode
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&n); err != nil {
			return nil, fmt.Errorf("read notices: %w", err)
		}
		list[i] = feeds.Notice{
			At: time.UnixMilli(int64(z.Score)).UTC(), Refused: refused,
			ControlID: n.ControlID, RequestID: n.RequestID, Code: n.Code, Path: n.Path,
		}
	}
	return list, nil
}
