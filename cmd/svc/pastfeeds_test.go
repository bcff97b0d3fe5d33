package main

import (
	"fmt"
	"testing"
	"time"

	"svc/acuity"
	"svc/internal/feeds"
	"svc/internal/stream"
	"svc/schemas"
)

// TestBusyDayIsCounted: after a restart, a feed's count for the last day includes every observation of that day, with
// its outcome, even if there are very many. A feed that was silent for the day is listed with its last time.
func TestBusyDayIsCounted(t *testing.T) {
	const busy = silentFeedsMost + 2000
	h := built(t, "ingest")
	now := time.Now().Truncate(time.Millisecond)
	log, verdicts := h.config.Topic(schemas.Observations()), h.config.Topic(schemas.Verdicts())
	loaders := map[string]*stream.Loader{}
	put := func(topic string, at time.Time, key, value []byte, err error) {
		t.Helper()
		if err == nil {
			err = loaders[topic].Put(&stream.Record{Key: key, Value: value, Timestamp: at})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, topic := range []string{log, verdicts} {
		l, err := h.cluster.Loader(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		loaders[topic] = l
	}
	offset := int64(0)
	receive := func(source string, at time.Time) {
		t.Helper()
		o := &acuity.Observation{
			Hospital: "north", Channel: acuity.ChannelStaffing, Source: source, ReceivedAt: acuity.At(at),
			Staffing: &acuity.Staffing{AsOf: acuity.At(at), Nurses: 5},
		}
		value, err := schemas.EncodeObservation(nil, o)
		put(log, at, []byte(schemas.ObservationKey(o).String()), value, err)
		c := &acuity.Change{
			Hospital: "north", Cause: acuity.CauseIngest, Offset: offset, Version: offset + 1, AppliedAt: acuity.At(at), Outcome: acuity.Applied,
		}
		value, err = schemas.ChangeCodec.Encode(nil, c)
		put(verdicts, at, []byte(c.Hospital), value, err)
		offset++
	}
	receive("key_silent", now.Add(-3*24*time.Hour))
	for i := range busy {
		receive("key_busy", now.Add(-23*time.Hour+time.Duration(i)*time.Second))
	}
	for _, l := range loaders {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := restoreFeeds(t.Context(), h, "key_demo", now); err != nil {
		t.Fatal(err)
	}
	all, err := h.redis.Feeds().List(t.Context(), "north")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i := range all {
		day := all[i].Window(feeds.DayWindow, now)
		got[all[i].Source] = fmt.Sprint(day.Received, " ", day.Applied, " ", now.Sub(all[i].LastReceived) > 24*time.Hour)
	}
	if want := map[string]string{"key_busy": fmt.Sprint(busy, " ", busy, " false"), "key_silent": "0 0 true"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("received, applied, silent for a day: %v, want %v", got, want)
	}
}
