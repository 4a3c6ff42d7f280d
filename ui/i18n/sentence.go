package i18n

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"countersign/internal/message"
)

// Message is m in the language of the window, in one line. It may be called from any goroutine.
func Message(m message.Message) string { return printer().Text(m) }

// MessageLines is m in two: what happened, and what to do about it, which is empty where it does not say.
func MessageLines(m message.Message) (what, next string) { return printer().Lines(m) }

// Error is what people are told of err.
func Error(err error) string { return Message(message.For(err)) }

func printer() *message.Printer {
	if c := chosen.Load(); c != nil {
		return c.messages
	}
	return message.English()
}

// Sentence is a sentence of the agent or of the packages below it, such as an error or what is wrong, in the language
// of the window, with a capital at the start and a full stop at the end. Those packages speak English and know no
// other language; the phrasebook knows what they say. What is not in it is shown as it is. It may be called from any
// goroutine.
func Sentence(english string) string { return Phrase(dress(english)) }

// Phrase is Sentence for what need not be a whole sentence: the title of a notification, a line of the activity.
func Phrase(english string) string {
	c := chosen.Load()
	if c == nil || c.book == nil || english == "" {
		return english
	}
	return c.book.say(english)
}

// dress makes a text presentable as a sentence.
func dress(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	if !strings.HasPrefix(text, "ngrok ") { // a name that is written small
		text = string(unicode.ToUpper(first)) + text[size:]
	}
	if last, _ := utf8.DecodeLastRuneInString(text); !strings.ContainsRune(".!?…", last) {
		text += "."
	}
	return text
}
