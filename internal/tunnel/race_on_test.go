//go:build race

package tunnel_test

// racing says that the race detector is on. The SDK itself races when a session dies before its first heartbeat
// (ngrok.md, 7), so tests with short heartbeats stay away then.
const racing = true
