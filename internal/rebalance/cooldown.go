package rebalance

import "time"

// CoolDown is for how long a stream stays where a transfer brought it. One that is moved again soon after its cool-down
// ended stays twice as long: load that goes to and fro does not take streams along.
type CoolDown struct {
	// Base is the first one; Max bounds the doubling.
	Base, Max time.Duration
}

// Last is what is known of a stream's last transfer.
type Last struct {
	// Ago is how long ago it ended. CoolDown is what it was given; 0 where it was no rebalancing.
	Ago, CoolDown time.Duration
}

// Left returns how long the stream still stays.
func (c CoolDown) Left(last Last) time.Duration {
	return max(0, max(c.Base, last.CoolDown)-last.Ago)
}

// Next returns the cool-down of a stream that is moved now. Twice the last one must pass for the doubling to end.
func (c CoolDown) Next(last Last) time.Duration {
	if last.CoolDown > 0 && last.Ago < 2*last.CoolDown {
		return max(c.Base, min(2*last.CoolDown, c.Max))
	}
	return c.Base
}
