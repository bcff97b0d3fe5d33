// Package mllp moves HL7 v2 messages over TCP by the Minimal Lower Layer Protocol. A
// message stands between 0x0B and 0x1C 0x0D. Its acknowledgment comes back on the same
// connection in the same frame.
//
// [Server] takes the messages of many senders. On one connection it reads the next
// message after it has answered the last, so what a sender sends ahead waits in the
// buffers of TCP. A message that could not be stored is never acknowledged: the server
// closes the connection, and the sender sends the message again. [Reader] and [Append]
// read and write the frames, for either side.
//
// The package never looks into a message.
package mllp
