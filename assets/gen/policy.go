package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"reflect"
	"strings"
	"text/template"

	"countersign/internal/office"
)

// A setting is one of office.Settings, as the Group Policy editor of Windows shows it.
type setting struct {
	name   string // as in the JSON of office.Settings
	label  words
	help   words
	choice []choice // what may be chosen, else it is written freely

	least, most int // of a number
}

// words are in English and in German.
type words [2]string

// choice is a value with its words: a text, or a number.
type choice struct {
	value any
	words
}

var (
	followSystem = choice{"", words{"As the system has it", "Wie im System"}}
	addresses    = words{"One person a line, as Ana Ruiz <ana@example.com>.", "Eine Person je Zeile, als Ana Ruiz <ana@example.com>."}
)

// settings are all there are; those of one screen stand together.
var settings = []setting{
	{name: "auth_url", label: words{"Sign-in address of the service", "Anmeldeadresse des Dienstes"}, help: words{"Such as https://sign.example.com.", "Etwa https://sign.example.com."}},
	{name: "base_url", label: words{"Service address", "Dienstadresse"}, help: words{"With or without /api/v1.", "Mit oder ohne /api/v1."}},
	{name: "client_id", label: words{"Client ID", "Client-ID"}, help: words{"The OAuth client ID that the service gave the office.", "Die OAuth-Client-ID, die der Dienst dem Büro gegeben hat."}},
	{name: "scopes", label: words{"Scopes", "Berechtigungen (Scopes)"}, help: words{"What the sign-in asks for, one a line.", "Was die Anmeldung verlangt, je Zeile eines."}},
	{name: "signature_header", label: words{"Signature header", "Signatur-Header"}, help: words{"The header of events that carries their signature.", "Der Header, in dem die Signatur eines Ereignisses steht."}},
	{name: "redirect", label: words{"How the browser returns after the sign-in", "Rückkehr nach der Anmeldung"}, choice: []choice{
		{"tunnel", words{"Through the public address", "Über die öffentliche Adresse"}}, {"localhost", words{"https://localhost", "https://localhost"}},
		{"loopback", words{"http://127.0.0.1", "http://127.0.0.1"}}, {"paste", words{"The address is pasted", "Die Adresse wird eingefügt"}}}},
	{name: "redirect_uri", label: words{"Registered return address", "Registrierte Rückkehradresse"}, help: words{"Only where it is not the one that follows from how the browser returns.",
		"Nur wenn sie sich nicht daraus ergibt, wie der Browser zurückkehrt."}},
	{name: "tunnel", label: words{"How the service reaches the computer", "Wie der Dienst den Computer erreicht"}, choice: []choice{
		{"ngrok", words{"Through ngrok", "Über ngrok"}}, {"external", words{"Through the office's own web server", "Über den eigenen Webserver"}},
		{"office", words{"Another desk hands events on", "Ein anderer Arbeitsplatz gibt Ereignisse weiter"}},
		{"none", words{"Not at all: Countersign asks the service", "Gar nicht: Countersign fragt den Dienst"}}}},
	{name: "ngrok_domain", label: words{"ngrok domain", "ngrok-Domain"}, help: words{"Empty for the account's own.", "Leer für die des Kontos."}},
	{name: "ngrok_connect_url", label: words{"Other ngrok server", "Anderer ngrok-Server"}, help: words{"As host:port.", "Als Host:Port."}},
	{name: "ngrok_ca", label: words{"Certificate file for ngrok", "Zertifikatsdatei für ngrok"}, help: words{"A PEM file, where the network inspects connections.", "Eine PEM-Datei, wo das Netz Verbindungen prüft."}},
	{name: "public_url", label: words{"Public address", "Öffentliche Adresse"}, help: words{"With the office's own web server.", "Mit dem eigenen Webserver."}},
	{name: "listen", label: words{"Address the web server forwards to", "Adresse, an die der Webserver weiterleitet"}, help: words{"As host:port.", "Als Host:Port."}},
	{name: "office", label: words{"Address of the hub", "Adresse der Zentrale"}, help: words{"As nats://host:port; several with commas in between.", "Als nats://Host:Port; mehrere mit Kommas dazwischen."}},
	{name: "office_pin", label: words{"Fingerprint of the hub's key", "Fingerabdruck des Schlüssels der Zentrale"}, help: words{"As an invitation has it.", "Wie er in einer Einladung steht."}},
	{name: "office_listen", label: words{"Where other desks connect", "Wo sich andere Arbeitsplätze verbinden"}, help: words{"As host:port. The computer is the hub then.", "Als Host:Port. Der Computer ist dann die Zentrale."}},
	{name: "save_to", label: words{"Folder for signed documents", "Ordner für unterschriebene Dokumente"}, help: words{"%USERPROFILE% and other variables may be used.",
		"%USERPROFILE% und andere Variablen sind möglich."}},
	{name: "name_template", label: words{"File name pattern", "Muster für Dateinamen"}, help: words{"Such as {date} {package} - {document}.", "Etwa {date} {package} - {document}."}},
	{name: "save_cac", label: words{"Save certificates too", "Auch Zertifikate speichern"}},
	{name: "save_masterfile", label: words{"Save master files too", "Auch Gesamtdateien speichern"}},
	{name: "beside_original", label: words{"Save beside the original", "Neben dem Original speichern"}, help: words{"What is sent from this computer is saved beside the file it was sent from.",
		"Was von diesem Computer gesendet wird, kommt neben die gesendete Datei."}},
	{name: "saved_elsewhere", label: words{"Another desk saves signed documents", "Ein anderer Arbeitsplatz speichert unterschriebene Dokumente"}},
	{name: "index", label: words{"List saved files in index.csv", "Gespeicherte Dateien in index.csv auflisten"}},
	{name: "copy_to", label: words{"Who gets a copy of everything", "Wer von allem eine Kopie erhält"}, help: addresses},
	{name: "blind_copy_to", label: words{"Who gets a blind copy of everything", "Wer von allem eine Blindkopie erhält"}, help: addresses},
	{name: "notify", label: words{"Notify about", "Benachrichtigen über"}, choice: []choice{{"each", words{"Each signature and fully signed packages", "Jede Unterschrift und jedes fertige Paket"}},
		{"executed", words{"Fully signed packages only", "Nur fertige Pakete"}}, {"none", words{"None", "Keine"}}}},
	{name: "notify_mine", label: words{"Notify only about packages of this account", "Nur über Pakete dieses Kontos benachrichtigen"}},
	{name: "due_days", label: words{"Remind me, days before the due date", "Tage vor der Frist"}, help: words{"When people are told of what is not signed; 0 for never.",
		"Wann an Offenes erinnert wird; 0 für nie."}, most: 365},
	{name: "quiet_from", label: words{"Quiet from", "Ruhezeit von"}, help: words{"Such as 22:00.", "Etwa 22:00."}},
	{name: "quiet_to", label: words{"Quiet until", "Ruhezeit bis"}, help: words{"Such as 07:00.", "Etwa 07:00."}},
	{name: "keep_events_days", label: words{"Days to keep event data", "Tage, die der Inhalt von Ereignissen bleibt"}, least: 1, most: 3650},
	{name: "stamp_url", label: words{"Time stamp service for the record", "Zeitstempeldienst für das Protokoll"}, help: words{"An address such as https://example.com/tsa (RFC 3161). Empty for none.",
		"Eine Adresse wie https://example.com/tsa (RFC 3161). Leer für keinen."}},
	{name: "mirror_record", label: words{"Keep a copy of the record in the folder", "Kopie des Protokolls im Ordner führen"}},
	{name: "check_files_days", label: words{"Days between checks of saved files", "Tage zwischen Prüfungen gespeicherter Dateien"}, help: words{"0 for never.", "0 für nie."}, most: 366},
	{name: "keep_years", label: words{"Years to keep signed papers", "Jahre, die unterschriebene Dokumente bleiben"}, help: words{"Such as 10; Lease: 30. Nothing is deleted.", "Etwa 10; Mietvertrag: 30. Nichts wird gelöscht."}},
	{name: "check_updates", label: words{"Check for a new version once a day", "Einmal am Tag nach einer neuen Version suchen"}},
	{name: "theme", label: words{"Theme", "Farbschema"}, choice: []choice{followSystem, {"light", words{"Light", "Hell"}}, {"dark", words{"Dark", "Dunkel"}}}},
	{name: "contrast", label: words{"Contrast", "Kontrast"}, choice: []choice{followSystem, {"high", words{"High", "Hoch"}}, {"normal", words{"Normal", "Normal"}}}},
	{name: "text_size", label: words{"Text size", "Schriftgröße"}, choice: textSizes()},
	{name: "motion", label: words{"Motion", "Bewegung"}, choice: []choice{followSystem, {"reduced", words{"Reduced", "Reduziert"}}, {"full", words{"Full", "Voll"}}}},
	{name: "language", label: words{"Language", "Sprache"}, choice: []choice{followSystem, {"en", words{"English", "English"}}, {"fr", words{"Français", "Français"}},
		{"de", words{"Deutsch", "Deutsch"}}, {"es", words{"Español", "Español"}}}},
}

func textSizes() []choice {
	list := []choice{{0, followSystem.words}}
	for _, percent := range office.TextSizes() {
		text := fmt.Sprintf("%d %%", percent)
		list = append(list, choice{percent, words{text, text}})
	}
	return list
}

// A policy is a setting that is fixed, or one that an office begins with.
type policy struct {
	setting
	Default  bool
	initial  reflect.Value // in office.DefaultSettings
	language int
}

func (p policy) ID() string {
	if p.Default {
		return "default_" + p.name
	}
	return p.name
}

func (p policy) Name() string  { return p.name }
func (p policy) Label() string { return p.label[p.language] }
func (p policy) Help() string  { return strings.TrimSpace(p.help[p.language] + " " + p.effect()) }
func (p policy) Least() int    { return p.least }
func (p policy) Most() int     { return p.most }
func (p policy) Initial() int  { return int(p.initial.Int()) }
func (p policy) effect() string {
	if p.Default {
		return words{"People can change it.", "Das lässt sich ändern."}[p.language]
	}
	return words{"People cannot change it then.", "Ändern lässt sich das dann nicht mehr."}[p.language]
}

// Kind is how it is written: switch, number, list, choice or text.
func (p policy) Kind() string {
	switch {
	case p.choice != nil:
		return "choice"
	case p.initial.Kind() == reflect.Bool:
		return "switch"
	case p.initial.Kind() == reflect.Int:
		return "number"
	case p.initial.Kind() == reflect.Slice:
		return "list"
	}
	return "text"
}

type Choice struct {
	ID, Words, Text string
	Number          int
	IsNumber        bool
}

func (p policy) Choices() (list []Choice) {
	for i, c := range p.choice {
		x := Choice{ID: fmt.Sprintf("%s_%d", p.ID(), i), Words: c.words[p.language]}
		if x.Number, x.IsNumber = c.value.(int); !x.IsNumber {
			x.Text = c.value.(string)
		}
		list = append(list, x)
	}
	return list
}

// policies are all of them, in the order of the table. Each setting has to be there, and nothing else.
func policies(language int) (list []policy, err error) {
	known := map[string]reflect.Value{}
	all := reflect.ValueOf(office.DefaultSettings())
	for _, f := range reflect.VisibleFields(all.Type()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous {
			known[name] = all.FieldByIndex(f.Index)
		}
	}
	for _, isDefault := range []bool{false, true} {
		for _, s := range settings {
			initial, is := known[s.name]
			if !is {
				return nil, fmt.Errorf("there is no setting %s", s.name)
			}
			list = append(list, policy{s, isDefault, initial, language})
		}
	}
	if len(settings) != len(known) {
		return nil, fmt.Errorf("%d of %d settings have words for the Group Policy editor", len(settings), len(known))
	}
	return list, nil
}

// policyTemplates are the administrative templates for Windows: what can be decided, and its words.
func policyTemplates() (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, x := range map[string]struct {
		form     string
		language int
	}{"Countersign.admx": {admx, 0}, "en-US/Countersign.adml": {adml, 0}, "de-DE/Countersign.adml": {adml, 1}} {
		list, err := policies(x.language)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		form := template.Must(template.New(name).Funcs(template.FuncMap{"xml": escaped}).Parse(x.form))
		if err := form.Execute(&b, map[string]any{"Policies": list, "English": x.language == 0}); err != nil {
			return nil, err
		}
		files["packaging/windows/policy/"+name] = b.Bytes()
	}
	return files, nil
}

func escaped(s string) (string, error) {
	var b bytes.Buffer
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}

const admx = `<?xml version="1.0" encoding="utf-8"?>
<policyDefinitions xmlns="http://schemas.microsoft.com/GroupPolicy/2006/07/PolicyDefinitions" revision="1.1" schemaVersion="1.0">
  <policyNamespaces>
    <target prefix="countersign" namespace="Countersign.Policies" />
  </policyNamespaces>
  <resources minRequiredRevision="1.1" />
  <supportedOn>
    <definitions>
      <definition name="countersign_1" displayName="$(string.supported)" />
    </definitions>
  </supportedOn>
  <categories>
    <category name="countersign" displayName="$(string.category)" />
    <category name="defaults" displayName="$(string.defaults)">
      <parentCategory ref="countersign" />
    </category>
  </categories>
  <policies>
{{- range .Policies}}
    <policy name="{{.ID}}" class="Machine" displayName="$(string.{{.Name}})" explainText="$(string.{{.ID}}_help)" key="Software\Policies\Countersign{{if .Default}}\Defaults{{end}}"
{{- if eq .Kind "switch"}} valueName="{{.Name}}"{{else}} presentation="$(presentation.{{.ID}})"{{end}}>
      <parentCategory ref="{{if .Default}}defaults{{else}}countersign{{end}}" />
      <supportedOn ref="countersign_1" />
{{- if eq .Kind "switch"}}
      <enabledValue><decimal value="1" /></enabledValue>
      <disabledValue><decimal value="0" /></disabledValue>
{{- else}}
      <elements>
{{- if eq .Kind "choice"}}
        <enum id="{{.ID}}" valueName="{{.Name}}" required="true">
{{- range .Choices}}
          <item displayName="$(string.{{.ID}})"><value>{{if .IsNumber}}<decimal value="{{.Number}}" />{{else}}<string>{{.Text}}</string>{{end}}</value></item>
{{- end}}
        </enum>
{{- else if eq .Kind "number"}}
        <decimal id="{{.ID}}" valueName="{{.Name}}" required="true" minValue="{{.Least}}" maxValue="{{.Most}}" />
{{- else if eq .Kind "list"}}
        <multiText id="{{.ID}}" valueName="{{.Name}}" required="true" />
{{- else}}
        <text id="{{.ID}}" valueName="{{.Name}}"{{if eq .Name "save_to" "ngrok_ca"}} expandable="true"{{end}} />
{{- end}}
      </elements>
{{- end}}
    </policy>
{{- end}}
  </policies>
</policyDefinitions>
`

const adml = `<?xml version="1.0" encoding="utf-8"?>
<policyDefinitionResources xmlns="http://schemas.microsoft.com/GroupPolicy/2006/07/PolicyDefinitions" revision="1.1" schemaVersion="1.0">
  <displayName>Countersign</displayName>
  <description>{{if .English}}Settings that the administrator decides{{else}}Einstellungen, die der Administrator bestimmt{{end}}</description>
  <resources>
    <stringTable>
      <string id="category">Countersign</string>
      <string id="defaults">{{if .English}}What an office begins with{{else}}Womit ein Büro beginnt{{end}}</string>
      <string id="supported">{{if .English}}Countersign on Windows 10 and later{{else}}Countersign unter Windows 10 und neuer{{end}}</string>
{{- range .Policies}}
{{- if not .Default}}
      <string id="{{.Name}}">{{xml .Label}}</string>
{{- end}}
      <string id="{{.ID}}_help">{{xml .Help}}</string>
{{- range .Choices}}
      <string id="{{.ID}}">{{xml .Words}}</string>
{{- end}}
{{- end}}
    </stringTable>
    <presentationTable>
{{- range .Policies}}
{{- if ne .Kind "switch"}}
      <presentation id="{{.ID}}">
{{- if eq .Kind "choice"}}<dropdownList refId="{{.ID}}" noSort="true" defaultItem="0">{{xml .Label}}</dropdownList>
{{- else if eq .Kind "number"}}<decimalTextBox refId="{{.ID}}" defaultValue="{{.Initial}}">{{xml .Label}}</decimalTextBox>
{{- else if eq .Kind "list"}}<multiTextBox refId="{{.ID}}">{{xml .Label}}</multiTextBox>
{{- else}}<textBox refId="{{.ID}}"><label>{{xml .Label}}</label></textBox>
{{- end}}</presentation>
{{- end}}
{{- end}}
    </presentationTable>
  </resources>
</policyDefinitionResources>
`
