package view

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"svc/internal/feeds"
)

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
