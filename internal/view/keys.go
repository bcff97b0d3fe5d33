package view

import (
	"strconv"
	"time"

	"svc/internal/feeds"
)

// keys names the keys and channels of a view in Redis. The braces put all keys of a partition into
// one slot of a cluster, so that one script may touch them.
type keys struct {
	prefix      string
	partitionOf func(hospital string) int32
}

func (k *keys) key(partition int32, what string) string {
	return k.prefix + "{" + strconv.Itoa(int(partition)) + "}" + what
}

// of returns a key of a hospital.
func (k *keys) of(hospital, what string) string {
	return k.key(k.partitionOf(hospital), what+":"+hospital)
}

// channel is where positions are announced, changed where new versions of a hospital are.
func (k *keys) channel() string                { return k.prefix + "at" }
func (k *keys) changed(hospital string) string { return k.prefix + "changed:" + hospital }

// The keys of the charts.
func (k *keys) headerKey(partition int32) string  { return k.key(partition, "whole") }
func (k *keys) membersKey(partition int32) string { return k.key(partition, "units") }
func (k *keys) unitKey(partition int32, hospital string) string {
	return k.key(partition, "unit:"+hospital)
}

func (k *keys) localSettingsKey(partition int32, hospital string) string {
	return k.key(partition, "site:"+hospital)
}

func (k *keys) codesKey(partition int32, hospital string) string {
	return k.key(partition, "codes:"+hospital)
}

// The keys of the lists. An endpoint of "" is all of the hospital.
func (k *keys) listedKey(partition int32) string { return k.key(partition, "listed") }

func (k *keys) orderKey(hospital, endpoint string) string {
	if endpoint == "" {
		return k.of(hospital, "sent")
	}
	return k.of(hospital, "sent") + ":" + endpoint
}

// noteKey is the key of a hash with notes of a kind. A command and a link have a hash of their own,
// because each expires by itself.
func (k *keys) noteKey(n note) string {
	key := k.of(n.hospital, n.kind)
	if n.kind == noteCommand || n.kind == noteLink {
		key += ":" + n.id
	}
	return key
}

// The keys of the feeds.
func (k *keys) feedsKey(hospital string) string { return k.of(hospital, "feeds") }

func (k *keys) blockKey(hospital string, l feeds.Level, at time.Time) string {
	return k.feedsKey(hospital) + ":" + l.Name + strconv.FormatInt(at.UnixMilli()/l.Block.Milliseconds(), 10)
}

// noticesKey is the key of the set of feeds of a hospital that have notices. The keys of the
// notices of a feed begin with it.
func (k *keys) noticesKey(hospital string) string { return k.feedsKey(hospital) + ":notices" }

// usedKey is the key of the hash with the last use of each API key, in Unix ms.
func (k *keys) usedKey() string { return k.prefix + "used" }
