// Package fault has people told of a fault that ends the program, on whatever goroutine it comes: Go runs nothing of the
// program's any more, and a program without a terminal would go without a word. It knows no Fyne, and nothing of what is told.
package fault
