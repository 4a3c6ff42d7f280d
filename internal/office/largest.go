package office

// Largest is how many bytes the files of one package may have together.
const Largest = 2_000_000_000
