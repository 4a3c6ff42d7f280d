// Package house has no program code: its tests are the rules of the house, such as what may be at the top level, which
// package may import which, how long main may be, and that every package says what it is for.
package house
