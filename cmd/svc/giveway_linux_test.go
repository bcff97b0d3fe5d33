package main

import (
	"testing"
	"time"
)

func TestOthersWork(t *testing.T) {
	const before = "cpu  1000 10 500 9000 100 5 20 30 0 0"
	for now, tt := range map[string]struct {
		own  time.Duration
		want bool
	}{
		"cpu  1000 10 500 9040 100 5 20 30 0 0":  {0, false},                      // nobody
		"cpu  1020 10 500 9020 100 5 20 30 0 0":  {200 * time.Millisecond, false}, // we alone
		"cpu  1024 10 500 9016 100 5 20 30 0 0":  {200 * time.Millisecond, false}, // a broker that hands us the log
		"cpu  1020 10 506 9014 100 5 20 30 0 0":  {200 * time.Millisecond, true},
		"cpu  1000 10 500 9034 100 5 26 30 0 0":  {0, true},
		"cpu  1000 10 500 9000 140 5 20 30 0 0":  {0, false}, // a disk
		"cpu  1006 10 500 9034 100 5 20 30 99 0": {0, true},  // guests are counted once
		"":                                       {0, false},
		"cpu x":                                  {0, false},
	} {
		if got := othersWork(before, now, tt.own); got != tt.want {
			t.Errorf("%q: %v", now, got)
		}
	}
}
