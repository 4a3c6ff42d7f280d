package cli

import (
	"fmt"
	"strings"

	"countersign/assets"

	"github.com/alecthomas/kong"
)

// completeCmd answers the scripts of Completion: one line for each word that may replace the last one, with a tab and a
// description. A line ":files" or ":folders" makes the shell complete those. It reads only the command line, so that
// pressing Tab never waits for an office.
type completeCmd struct {
	Next  bool     `hidden:"" help:"The word to complete has not begun."`
	Words []string `arg:"" optional:"" help:"What is typed behind countersign."`
}

func (c *completeCmd) Run(r *run) error {
	word, before := "", c.Words
	if last := len(before) - 1; last >= 0 && !c.Next {
		word, before = before[last], before[:last]
	}
	node, value := placeBehind(before, strings.HasPrefix(word, "-"))
	var offers [][2]string // a word and its description
	kind := ""
	switch {
	case value != nil:
		for _, choice := range value.EnumSlice() {
			offers = append(offers, [2]string{choice})
		}
		switch {
		case value.Tag.PlaceHolder == "DIR", value.Name == "folder":
			kind = ":folders"
		case value.Tag.PlaceHolder == "FILE", value.Name == "file":
			kind = ":files"
		}
	case strings.HasPrefix(word, "-"):
		for _, f := range flagsOf(node) {
			offers = append(offers, [2]string{"--" + f.Name, f.Help})
			if f.Tag.Negatable != "" {
				offers = append(offers, [2]string{"--no-" + f.Name, f.Help})
			}
		}
	default:
		for _, command := range node.Children {
			if !command.Hidden {
				offers = append(offers, [2]string{command.Name, command.Help})
			}
		}
	}
	offered := false
	for _, o := range offers {
		if o[0] == "" || !strings.HasPrefix(o[0], word) {
			continue
		}
		offered = true
		if err := r.out.Row(o[:]...); err != nil {
			return err
		}
	}
	if node.Type == kong.ApplicationNode && value == nil && !offered {
		kind = ":files" // files to show in the window
	}
	if kind == "" {
		return nil
	}
	return r.out.Line("%s", kind)
}

// placeBehind determines what may follow some words: node is the command they select, or the program if they contain none;
// value is the flag's or argument's value that must follow, nil if it is the name of a command or a flag, or nothing.
func placeBehind(words []string, flag bool) (node *kong.Node, value *kong.Value) {
	node = Grammar().Node
	args := 0 // positional arguments so far
	for _, word := range words {
		f, command := flagNamed(node, word), commandNamed(node, word)
		switch {
		case value != nil: // this word is that value
			value = nil
		case f != nil && !f.IsBool():
			value = f.Value
		case strings.HasPrefix(word, "-"):
		case command != nil:
			node = command
		default:
			if node.DefaultCmd != nil {
				node = node.DefaultCmd
			}
			args++
		}
	}
	if n := len(node.Positional); value == nil && !flag && n > 0 {
		if p := node.Positional[min(args, n-1)]; args < n || p.IsCumulative() {
			value = p
		}
	}
	return node, value
}

// flagsOf are the flags that may follow a command.
func flagsOf(n *kong.Node) (list []*kong.Flag) {
	for _, group := range n.AllFlags(true) {
		list = append(list, group...)
	}
	if n.Type != kong.ApplicationNode && n.DefaultCmd != nil {
		list = append(list, n.DefaultCmd.Flags...)
	}
	return list
}

// flagNamed is the flag with this spelling, nil if there is none.
func flagNamed(n *kong.Node, written string) *kong.Flag {
	for _, f := range flagsOf(n) {
		if written == "--"+f.Name || f.Short != 0 && written == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// commandNamed is the command of that name in a group or the program, nil if there is none.
func commandNamed(group *kong.Node, name string) *kong.Node {
	for _, c := range group.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
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

// Completion is the script that lets a shell (bash, zsh, fish or powershell) complete words after countersign. It asks
// `countersign complete` each time, and so knows all of the program's commands.
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
