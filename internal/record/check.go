package record

import (
	"bytes"
	"encoding/hex"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// Proven is a line of a log with its proof: what is needed to compute a head from it.
type Proven struct {
	Name  string // of the file that contains the line, without a line end
	Line  []byte
	steps []string // "l:" or "r:" and the sibling's hash on that side, from the line up
}

// Prove proves that line n of a log is among its first size lines (RFC 9162, 2.1.3).
func Prove(l Log, size, n int64) (p Proven, err error) {
	line, err := l.Line(n)
	if err != nil {
		return p, err
	}
	p.Name, p.Line = fmt.Sprintf("%09d.json", n+1), bytes.Clone(line)
	proof, err := tlog.ProveRecord(size, n, Hashes(l))
	for at, last, i := n, size-1, 0; i < len(proof); at, last, i = at/2, last/2, i+1 {
		side := "r:"
		if at%2 == 1 || at == last {
			side = "l:"
			for ; at%2 == 0; at, last = at/2, last/2 { // it has no right sibling there
			}
		}
		p.steps = append(p.steps, side+hex.EncodeToString(proof[i][:]))
	}
	return p, err
}

// Script is a Unix shell script that uses sha256sum, xxd and base64 to check whether the lines beside it belong to the head
// in head.txt, and whether the files in the folders beside its own are recorded in them.
func Script(lines []Proven) []byte {
	var b bytes.Buffer
	b.WriteString(script)
	for _, p := range lines {
		fmt.Fprintf(&b, "check %s", p.Name)
		for _, s := range p.steps {
			fmt.Fprintf(&b, " \\\n  %s", s)
		}
		b.WriteByte('\n')
	}
	b.WriteString(scriptEnd)
	return b.Bytes()
}

const script = `#!/bin/sh
# Checks that each line of the record in this folder belongs to what head.txt stands for (a Merkle tree, RFC 9162, 2.1).
cd "$(dirname "$0")" || exit 1
command -v sha256sum >/dev/null && command -v xxd >/dev/null && command -v base64 >/dev/null || {
	echo "This needs sha256sum, xxd and base64." >&2
	exit 2
}
leaf() { { printf '\000'; cat "$1"; } | sha256sum | cut -c 1-64; }
node() { { printf '\001'; printf %s "$1$2" | xxd -r -p; } | sha256sum | cut -c 1-64; }
head=$(sed -n 3p head.txt | base64 -d | xxd -p -c 32)
[ ${#head} -eq 64 ] || { echo "head.txt holds no head." >&2; exit 2; }
status=0
check() {
	name=$1 sum=$(leaf "$1")
	shift
	for step in "$@"; do
		case $step in
		l:*) sum=$(node "${step#l:}" "$sum") ;;
		*) sum=$(node "$sum" "${step#r:}") ;;
		esac
	done
	if [ "$sum" = "$head" ]; then echo "$name: OK"; known=$known$(cat "$name"); else echo "$name: FAILED"; status=1; fi
}
known=
`

const scriptEnd = `for file in ../documents/* ../sent/* ../events/*; do
	[ -f "$file" ] || continue
	sum=$(sha256sum <"$file" | cut -c 1-64)
	case $known in
	*"\"sha256\":\"$sum\""*) echo "$file: OK" ;;
	*) echo "$file: NOT IN THE RECORD"; status=1 ;;
	esac
done
exit $status
`
