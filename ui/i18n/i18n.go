// Package i18n turns the office's facts into the words people read: names, times, numbers, states. All of them go
// through Fyne's lang, with the English text as the key; what the packages below the window tell people are messages, see
// Message. It formats what it is given and asks nobody; its only state is the language in use.
package i18n

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/assets"
	"countersign/internal/message"
	"countersign/internal/office"
)

// Load makes Fyne choose among our languages that of the system, and know the English texts. Those of the language in use
// are looked up before Fyne's, see Use: to read them all would hold up every start.
func Load() error {
	for _, code := range Languages() {
		texts := []byte(`{"language.code": "` + code + `"}`)
		if code == "en" {
			var err error
			if texts, err = assets.Translations.ReadFile("translations/en.json"); err != nil {
				return fmt.Errorf("load the translations: %w", err)
			}
		}
		if err := lang.AddTranslations(fyne.NewStaticResource(code+".json", texts)); err != nil {
			return fmt.Errorf("load the translations of %q: %w", code, err)
		}
	}
	return nil
}

// V are the values of a text with placeholders.
type V map[string]any

// Documents is "1 document", "2 documents".
func Documents(n int) string { return lang.N("{{.PluralCount}} documents", n) }

// People is "1 person", "2 people".
func People(n int) string { return lang.N("{{.PluralCount}} people", n) }

// Name is how a signer is called: the names, else the e-mail address, else "Someone", which is a label or begins a
// sentence: within one it would need other forms.
func Name(s office.Signer) string { return cmp.Or(personName(s), lang.L("Someone")) }

// personName is Name without a word for those who have neither name nor address.
func personName(s office.Signer) string {
	return cmp.Or(strings.TrimSpace(s.FirstName+" "+s.LastName), s.Email)
}

// Names lists people in a few words: "Ana Ruiz", "Ana Ruiz and Jan Weber", "Ana Ruiz and 3 others".
func Names(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	case 2:
		return lang.L("{{.First}} and {{.Second}}", V{"First": names[0], "Second": names[1]})
	default:
		return lang.L("{{.First}} and {{.Count}} others", V{"First": names[0], "Count": len(names) - 1})
	}
}

// Age is how long ago something was, for a narrow column: "now", "5 min", "3 h", "4 d", then the date.
func Age(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	switch d := now.Sub(t); {
	case d < time.Minute:
		return lang.L("now")
	case d < time.Hour:
		return lang.L("{{.N}} min", V{"N": int(d.Minutes())})
	case d < 24*time.Hour:
		return lang.L("{{.N}} h", V{"N": int(d.Hours())})
	case d < 14*24*time.Hour:
		return lang.L("{{.N}} d", V{"N": int(d.Hours() / 24)})
	default:
		return Date(now, t)
	}
}

// Clock is a moment as briefly as it stays clear: "09:14" today, "Tue 09:14" within a week, else "2 Nov 09:14". The
// zone is that of now.
func Clock(now, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(now.Location())
	clock := t.Format("15:04")
	switch {
	case sameDay(now, t):
		return clock
	case named(now, t):
		return weekday(t) + " " + clock
	case t.Year() == now.Year():
		return Date(now, t) + " " + clock
	default:
		return Date(now, t)
	}
}

// When is the time at which something happened, as Clock says it, or by when it had.
func When(now time.Time, at office.When) string {
	text := Clock(now, at.Time)
	if at.By && text != "" {
		return Message(message.ByTime(text))
	}
	return text
}

// Since is how long something has been so: "since 09:14", "since Tue 09:14", "since 2 Nov 09:14". Empty when it is not
// known. A time, a weekday and a date take words of their own before them in some languages.
func Since(now, t time.Time) string {
	when := V{"When": Clock(now, t)}
	switch {
	case t.IsZero():
		return ""
	case sameDay(now, t.In(now.Location())):
		return lang.X("since.time", "since {{.When}}", when)
	case named(now, t):
		return lang.X("since.weekday", "since {{.When}}", when)
	default:
		return lang.X("since.date", "since {{.When}}", when)
	}
}

// named says whether Clock calls the day of t by its weekday.
func named(now, t time.Time) bool { return now.Sub(t) < 6*24*time.Hour && t.Before(now) }

// Day is a date with its weekday: "Tue 24 Nov", with the year when it is another one.
func Day(now, t time.Time) string {
	return lang.X("date.weekday", "{{.Weekday}} {{.Date}}", V{"Weekday": weekday(t.In(now.Location())), "Date": Date(now, t)})
}

// Date is a day as short as it stays clear: "24 Nov", with the year when it is another one.
func Date(now, t time.Time) string {
	t = t.In(now.Location())
	values := V{"Day": t.Day(), "Month": lang.X("month."+t.Format("Jan"), t.Format("Jan")), "Year": strconv.Itoa(t.Year())}
	if t.Year() != now.Year() {
		return lang.X("date.year", "{{.Day}} {{.Month}} {{.Year}}", values)
	}
	return lang.X("date.day", "{{.Day}} {{.Month}}", values)
}

func weekday(t time.Time) string { return lang.X("weekday."+t.Format("Mon"), t.Format("Mon")) }

func sameDay(a, b time.Time) bool {
	return a.Year() == b.Year() && a.YearDay() == b.YearDay()
}
