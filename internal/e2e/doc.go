// Package e2e tests the whole system from outside: the binary as it is shipped,
// fed over HTTP, killed, cut off from its servers, and compared with a refold
// of its own log by the plain reference function.
//
// `go test` runs what needs the embedded servers of `svc dev` only; `make e2e`
// adds the tests on a real Kafka and a real Redis.
package e2e
