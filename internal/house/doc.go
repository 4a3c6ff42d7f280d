// Package house holds no program code: its tests are the rules of the house. What may lie at the top, who may know
// whom, how long main may be, and that every package says what it is for.
package house
