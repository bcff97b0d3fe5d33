// Package mllp moves HL7 v2 messages over TCP by the Minimal Lower Layer
// Protocol: a message stands between 0x0B and 0x1C 0x0D, and its acknowledgment
// comes back on the same connection in the same frame.
//
// [Server] takes the messages of many senders, those of one connection one after
// the other: the next is read when the last is answered, so what a sender sends
// ahead waits in the buffers of TCP. A message that could not be kept is never
// acknowledged: the connection is closed, and the sender sends it again. [Reader]
// and [Append] are the frames themselves, for either side.
//
// Nothing here looks into a message.
package mllp
