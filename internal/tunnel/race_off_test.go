//go:build !race

package tunnel_test

const racing = false
