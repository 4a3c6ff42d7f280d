package sim

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// keyed is a stream of chance for one thing alone. What happens to a request is drawn by what the request is and not from
// a stream that several goroutines share, so that it does not depend on which of them was quicker.
func keyed(seed uint64, key ...any) *rand.Rand {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(nil, seed))
	fmt.Fprint(h, key...)
	return rand.New(rand.NewPCG(h.Sum64(), seed))
}

// between is a duration of from to to, uneven to the nanosecond: no two goroutines wake at the same instant.
func between(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)))
}

// oneOf chooses.
func oneOf[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }
