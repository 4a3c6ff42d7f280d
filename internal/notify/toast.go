package notify

import (
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"

	"countersign/internal/office"
)

// mostArguments limits the arguments of a toast, in bytes; the whole toast may have 5 KB. A press on a toast with a longer
// subject only brings up the window.
const mostArguments = 1000

// toastXML is a notification as a toast (the toast schema of the Windows Runtime), with the icon from a file. Its arguments
// say what a press means, because Windows keeps it in a list where it can still be pressed after the program was restarted.
func toastXML(app, iconFile string, n office.Notice) string {
	var t strings.Builder
	put := func(form string, values ...any) {
		for i, v := range values {
			values[i] = html.EscapeString(v.(string)) // also well-formed XML
		}
		fmt.Fprintf(&t, form, values...)
	}
	launch, buttons := "", n.Buttons
	if len(buttons) > 0 {
		launch, buttons = arguments(app, n.About, buttons[0].Action), buttons[1:]
	}
	put(`<toast activationType="foreground" launch="%s" duration="short"><visual><binding template="ToastGeneric">`, launch)
	if iconFile != "" {
		put(`<image placement="appLogoOverride" src="%s"/>`, iconFile)
	}
	put(`<text>%s</text><text>%s</text></binding></visual><audio silent="true"/>`, n.Title, n.Body)
	if len(buttons) > 0 {
		put(`<actions>`)
		for _, b := range buttons {
			put(`<action activationType="foreground" content="%s" arguments="%s"/>`, b.Label, arguments(app, n.About, b.Action))
		}
		put(`</actions>`)
	}
	put(`</toast>`)
	return t.String()
}

// arguments encode what a press means.
func arguments(app string, about office.Subject, deed office.Action) string {
	text := url.Values{"app": {app}, "about": {string(about)}, "deed": {string(deed)}}.Encode()
	if len(text) > mostArguments {
		return arguments(app, "", office.ActionShow)
	}
	return text
}

func readPress(text string) (app string, p office.Click, ok bool) {
	v, err := url.ParseQuery(text)
	if err != nil || len(text) > mostArguments {
		return "", p, false
	}
	p = office.Click{About: office.Subject(v.Get("about")), Action: office.Action(v.Get("deed"))}
	return v.Get("app"), p, slices.Contains([]office.Action{office.ActionShow, office.ActionOpen, office.ActionFolder}, p.Action)
}
