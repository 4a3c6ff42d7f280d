package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/assets"
	"countersign/internal/message"
	"countersign/internal/office"

	"github.com/alecthomas/kong"
)

// completeCmd answers the scripts of Completion: a line for each word that may stand where the last one is, with a tab and
// what it is behind it. A line ":files" or ":folders" has the shell complete those.
type completeCmd struct {
	Next  bool     `hidden:"" help:"The word to complete has not begun."`
	Words []string `arg:"" optional:"" help:"What is typed behind countersign."`
}

const (
	completeFiles   = ":files"
	completeFolders = ":folders"
)

// What a value is, in the tag "complete" of the field that takes it; files, folders and choices need none.
const (
	ofPackage  = "package"  // its id or name
	ofWaiting  = "waiting"  // the same, of those that wait to be signed
	ofPerson   = "person"   // somebody the office has sent to
	ofTemplate = "template" // the name of one that was used
	ofCommand  = "command"  // one of this program
)

// candidate is a word that may stand there.
type candidate struct {
	Value string `json:"value"`
	About string `json:"about,omitempty"`
}

func (c *completeCmd) Run(r *run) error {
	words := c.Words
	if c.Next || len(words) == 0 {
		words = append(words, "")
	}
	at := placeOf(Grammar().Node, words)
	if at.data != "" {
		r.global.Data = at.data
	}
	list, what := at.candidates()
	ask := what != "" && !strings.HasPrefix(what, ":")
	if ask {
		list = r.offers(what)
	}
	for _, x := range list {
		begun := strings.HasPrefix(strings.ToLower(x.Value), strings.ToLower(at.word))
		if !begun || message.OneLine(x.Value, offersLongest) != x.Value { // what cannot be shown as it is cannot be chosen
			continue
		}
		if err := r.out.Row(at.head+x.Value, x.About); err != nil {
			return err
		}
	}
	if ask || what == "" {
		return nil
	}
	return r.out.Line("%s", what)
}

// place is where in a command line a word is to be completed.
type place struct {
	word  string      // what there is of it
	head  string      // "--flag=", where it is a flag's value in the same word
	node  *kong.Node  // the command it belongs to; the program where none was typed yet
	value *kong.Value // what it is to be; nil for the name of a flag, and where nothing more may stand
	flag  bool        // it is the name of a flag
	data  string      // --data, as far as it was typed
}

// placeOf reads words, all but the last of which are whole.
func placeOf(program *kong.Node, words []string) place {
	at := place{node: program}
	var wants *kong.Flag // the flag whose value comes next
	var args int         // how many positional arguments came
	options := true      // there was no "--" yet
	for i, word := range words {
		last := i == len(words)-1
		name, value, joined := strings.Cut(word, "=")
		switch {
		case wants != nil:
			if at.note(wants, word); last {
				at.word, at.value = word, wants.Value
			}
			wants = nil
		case options && strings.HasPrefix(word, "-") && word != "-":
			f := flagNamed(at.node, name)
			switch {
			case last && joined && f != nil && !f.IsBool():
				at.word, at.head, at.value = value, name+"=", f.Value
			case last:
				at.word, at.flag = word, true
			case word == "--":
				options = false
			case f != nil && joined:
				at.note(f, value)
			case f != nil && !f.IsBool():
				wants = f
			}
		case last:
			at.word = word
			if n := len(at.node.Positional); n > 0 {
				if p := at.node.Positional[min(args, n-1)]; args < n || p.IsCumulative() {
					at.value = p
				}
			}
		case args == 0 && len(at.node.Children) > 0:
			group := at.node
			if at.node = commandNamed(group, word); at.node == nil { // which belongs to the default command
				at.node, args = group.DefaultCmd, 1
			}
		default:
			args++
		}
	}
	return at
}

// note keeps what a flag says about where to look for more.
func (at *place) note(f *kong.Flag, value string) {
	if f.Name == "data" {
		at.data = value
	}
}

// candidates are the words that may stand at the place as far as the grammar tells, and what else may: one of the kinds
// above, or "" for nothing.
func (at place) candidates() (list []candidate, what string) {
	switch {
	case at.flag:
		for _, f := range flagsOf(at.node) {
			list = append(list, candidate{"--" + f.Name, f.Help})
			if f.Tag.Negatable != "" {
				list = append(list, candidate{"--no-" + f.Name, f.Help})
			}
		}
		return list, ""
	case at.value != nil:
		return at.values()
	case len(at.node.Children) == 0:
		return nil, ""
	}
	list = commandsOf(at.node)
	if at.node.Type != kong.ApplicationNode || slices.ContainsFunc(list, func(x candidate) bool { return strings.HasPrefix(x.Value, at.word) }) {
		return list, ""
	}
	return nil, completeFiles // for the window
}

// commandsOf are the commands of a group or the program.
func commandsOf(group *kong.Node) (list []candidate) {
	for _, c := range group.Children {
		if !c.Hidden {
			list = append(list, candidate{c.Name, c.Help})
		}
	}
	return list
}

// values are those of a flag or an argument.
func (at place) values() (list []candidate, what string) {
	v := at.value
	for _, choice := range v.EnumSlice() {
		if choice != "" {
			list = append(list, candidate{Value: choice})
		}
	}
	switch kind := v.Tag.Get("complete"); {
	case len(list) > 0:
		return list, ""
	case kind == ofCommand:
		return commandsOf(at.node.Parent), ""
	case kind != "":
		return nil, kind
	case v.Tag.PlaceHolder == "DIR", v.Name == "folder":
		return nil, completeFolders
	case v.Tag.PlaceHolder == "FILE", v.Name == "file":
		return nil, completeFiles
	}
	return nil, ""
}

// flagsOf are the flags that may stand behind a command.
func flagsOf(n *kong.Node) (list []*kong.Flag) {
	for _, group := range n.AllFlags(true) {
		list = append(list, group...)
	}
	if n.Type != kong.ApplicationNode && n.DefaultCmd != nil {
		list = append(list, n.DefaultCmd.Flags...)
	}
	return list
}

// flagNamed is the flag that is written so, nil for none.
func flagNamed(n *kong.Node, written string) *kong.Flag {
	for _, f := range flagsOf(n) {
		if written == "--"+f.Name || written == "--no-"+f.Name && f.Tag.Negatable != "" || f.Short != 0 && written == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// commandNamed is the command of that name in a group or the program, nil for none.
func commandNamed(group *kong.Node, name string) *kong.Node {
	for _, c := range group.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// offersPatience is how long a person who presses a key waits for what the office has to offer.
const offersPatience = time.Second

// offers are the words of a kind that the running Countersign knows. Without one there are none: reading what is kept may
// take a turn behind another command, or have the keyring ask a question, and somebody is only looking for a word.
func (r *run) offers(kind string) []candidate {
	ctx, cancel := context.WithTimeout(r.ctx, offersPatience)
	defer cancel()
	o, err := r.running()
	if err != nil {
		return nil
	}
	defer o.Close()
	list, _ := callOffers.of(ctx, o, kind) // what is wrong is said by the command itself
	return list
}

// offersMost is how many words of a kind are offered: nobody looks through more.
const offersMost = 500

// offersLongest is how long such a word is at most, in characters.
const offersLongest = 4000

// offers are the words of a kind that may be typed.
func (l *local) offers(_ context.Context, kind string) ([]candidate, error) {
	switch kind {
	case ofPackage:
		return l.packageOffers(office.Query{Archived: true, Limit: offersMost})
	case ofWaiting:
		return l.packageOffers(office.Query{States: []office.Status{office.StatusWaiting}, Limit: offersMost})
	case ofPerson:
		people, err := l.agent.People()
		list := []candidate{}
		for _, p := range people[:min(offersMost, len(people))] {
			list = append(list, candidate{Value: office.Written(p)})
		}
		return list, err
	case ofTemplate:
		used, err := l.agent.UsedTemplates(offersMost)
		list := []candidate{}
		for _, t := range used {
			list = append(list, candidate{Value: t.Name})
		}
		return list, err
	}
	return nil, nil
}

// packageOffers are the ids of packages, and the names that mean one package alone.
func (l *local) packageOffers(q office.Query) (list []candidate, err error) {
	lines, err := l.agent.Lines()
	if err != nil {
		return nil, err
	}
	chosen := q.Choose(lines)
	for _, p := range chosen {
		list = append(list, candidate{p.ID, fmt.Sprintf("%s (%s)", titleOf(p.Name), p.Status())})
	}
	called := map[string]int{}
	for _, p := range lines {
		called[p.Name]++
	}
	for _, p := range chosen {
		if p.Name != "" && called[p.Name] == 1 {
			list = append(list, candidate{p.Name, string(p.Status())})
		}
	}
	return list, nil
}

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"Your shell: ${enum}."`
}

func (c *completionCmd) Run(r *run) error {
	script, err := Completion(c.Shell)
	if err != nil {
		return err
	}
	_, err = r.out.Write(script)
	return err
}

// Completion is the script that has a shell (bash, zsh, fish or powershell) complete what is typed after countersign. It
// asks `countersign complete` each time, and so knows every command that the program knows.
func Completion(shell string) ([]byte, error) {
	if shell == "powershell" {
		shell = "ps1"
	}
	script, err := assets.Completions.ReadFile("completions/countersign." + shell)
	if err != nil {
		return nil, fmt.Errorf("read the completion of %s: %w", shell, err)
	}
	return script, nil
}
