package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Delivery is one event for one endpoint. Body is what was or will be sent, byte for byte.
type Delivery struct {
	EventID   string     `json:"event_id"`
	Action    string     `json:"action"`
	PackageID string     `json:"package_id"`
	ClientID  string     `json:"client_id"`
	Body      string     `json:"body"`
	Created   time.Time  `json:"created"`
	Delivered *time.Time `json:"delivered"` // the first 2xx
	Attempts  int        `json:"attempts"`
	Sent      int        `json:"sent"`     // how often it was answered 2xx: more than once when it was duplicated
	Status    int        `json:"status"`   // of the last answer; 0: none came
	Problem   string     `json:"problem"`  // of the last attempt; "" after a 2xx
	GivenUp   bool       `json:"given_up"` // too old, or nobody is registered any more
}

// delivery is a Delivery as it is kept.
type delivery struct {
	Delivery
	Seq            uint64    `json:"seq"`
	OrganizationID string    `json:"organization_id"`
	Body           []byte    `json:"body"` // JSON has no other form for bytes that are not UTF-8
	Next           time.Time `json:"next"` // not before, in real time
}

func deliveryKey(seq uint64) string {
	return string(binary.BigEndian.AppendUint64(nil, seq))
}

// pending is an entry of the queue in memory.
type pending struct {
	seq  uint64
	next time.Time
}

// Disturbance is how events travel from now on.
type Disturbance struct {
	Duplicate int  `json:"duplicate"` // send every event this many times more
	Reorder   bool `json:"reorder"`   // send what is waiting in random order
	DelayMS   int  `json:"delay_ms"`  // wait this long before the first attempt
}

// Disturb changes how events that are not on their way yet travel. The zero value ends all disturbance.
func (s *Server) Disturb(d Disturbance) {
	s.delivery.mu.Lock()
	s.delivery.disturbance = d
	s.delivery.mu.Unlock()
	s.delivery.wake()
}

// Hold keeps events back until Release.
func (s *Server) Hold() {
	s.delivery.mu.Lock()
	defer s.delivery.mu.Unlock()
	s.delivery.held = true
}

// Release lets events go: in the order they happened ("" or "fifo"), in "reverse" or in "random" order.
func (s *Server) Release(order string) error {
	d := s.delivery
	d.mu.Lock()
	defer d.mu.Unlock()
	switch order {
	case "", "fifo":
	case "reverse":
		slices.Reverse(d.queue)
	case "random":
		chance().Shuffle(len(d.queue), func(i, j int) { d.queue[i], d.queue[j] = d.queue[j], d.queue[i] })
	default:
		return badRequest("admin_invalid_order", "The order must be fifo, reverse or random.")
	}
	d.held = false
	d.wake()
	return nil
}

// Redeliver sends an event again, also when it was delivered.
func (s *Server) Redeliver(eventID string) error {
	var again []uint64
	err := s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketDeliveries, func(_ string, d delivery) error {
			if d.EventID == eventID {
				again = append(again, d.Seq)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	if len(again) == 0 {
		return notFound("event")
	}
	for _, seq := range again {
		s.delivery.push(pending{seq: seq, next: time.Now()})
	}
	return nil
}

// Deliveries returns every event with how it fared, oldest first.
func (s *Server) Deliveries() ([]Delivery, error) {
	all := []Delivery{}
	err := s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketDeliveries, func(_ string, d delivery) error {
			d.Delivery.Body = string(d.Body)
			all = append(all, d.Delivery)
			return nil
		})
	})
	return all, err
}

// enqueue stores events for every endpoint of the package's organization; they leave once tx is committed. An event
// that nobody is registered for is lost, as it would be.
func (d *dispatcher) enqueue(tx *bolt.Tx, p *pack, events []event) error {
	var clients []string
	err := each(tx, bucketEndpoints, func(_ string, e endpoint) error {
		if e.OrganizationID == p.OrganizationID {
			clients = append(clients, e.ClientID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	how := d.disturbance
	d.mu.Unlock()
	next := time.Now().Add(time.Duration(how.DelayMS) * time.Millisecond)
	var added []pending
	for _, e := range events {
		for _, client := range clients {
			seq, err := tx.Bucket([]byte(bucketDeliveries)).NextSequence()
			if err != nil {
				return fmt.Errorf("numbering an event: %w", err)
			}
			item := delivery{
				Delivery: Delivery{EventID: e.ID, Action: e.Action, PackageID: p.PackageID, ClientID: client, Created: time.Now()},
				Seq:      seq, OrganizationID: p.OrganizationID, Body: e.Body, Next: next,
			}
			if err := put(tx, bucketDeliveries, deliveryKey(seq), item); err != nil {
				return err
			}
			for range 1 + how.Duplicate {
				added = append(added, pending{seq: seq, next: next})
			}
		}
	}
	if len(added) > 0 {
		tx.OnCommit(func() { d.push(added...) })
	}
	return nil
}

// load fills the queue with what was not delivered before the last stop.
func (d *dispatcher) load() error {
	return d.s.db.View(func(tx *bolt.Tx) error {
		return each(tx, bucketDeliveries, func(_ string, item delivery) error {
			if item.Delivered == nil && !item.GivenUp {
				d.queue = append(d.queue, pending{seq: item.Seq, next: item.Next})
			}
			return nil
		})
	})
}

// record notes how an attempt ended and says whether, and when, there is another.
func (d *dispatcher) record(seq uint64, status int, problem string, gone bool) (again bool, next time.Time, err error) {
	err = d.s.db.Update(func(tx *bolt.Tx) error {
		item, err := get[delivery](tx, bucketDeliveries, deliveryKey(seq))
		if err != nil {
			return err
		}
		item.Attempts, item.Status, item.Problem = item.Attempts+1, status, problem
		now := time.Now()
		switch {
		case problem == "":
			item.Sent++
			if item.Delivered == nil {
				item.Delivered = &now
			}
		case item.Delivered != nil: // a copy of what has arrived: not worth trying again
		case gone, now.Sub(item.Created) > d.s.opt.RetryFor:
			item.GivenUp = true
		default:
			item.Next = now.Add(d.backoff(item.Attempts))
			again, next = true, item.Next
		}
		return put(tx, bucketDeliveries, deliveryKey(seq), item)
	})
	if errors.Is(err, errNotFound) {
		return false, next, nil
	}
	return again, next, err
}

// backoff doubles from RetryFirst to RetryMax.
func (d *dispatcher) backoff(attempts int) time.Duration {
	wait := d.s.opt.RetryFirst
	for range attempts - 1 {
		if wait *= 2; wait >= d.s.opt.RetryMax {
			return d.s.opt.RetryMax
		}
	}
	return min(wait, d.s.opt.RetryMax)
}
