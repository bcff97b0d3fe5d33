//go:build !linux

package main

import (
	"context"
	"sync/atomic"
)

// giveWay lowers the priority of the process where that is known how.
func giveWay(int) {}

// stepAside prepares for that.
func stepAside(context.Context, int) error { return nil }

// watchOthers notes whether others use the processors.
func watchOthers(context.Context, *atomic.Bool) {}
