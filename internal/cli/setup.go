package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/secret"

	"golang.org/x/term"
)

// setupCmd asks everything that the wizard asks. What is not given stays as it is. Its fields have the JSON names of the
// settings that they change.
type setupCmd struct {
	serviceFlags
	addressFlags
	savingFlags
	fileFlags

	CopyTo      []string `json:"copy_to,omitempty" sep:"none" help:"Who gets a copy of every package sent from here, separated by commas; empty for nobody." placeholder:"PEOPLE"`
	BlindCopyTo []string `json:"blind_copy_to,omitempty" sep:"none" help:"The same, not shown to the others." placeholder:"PEOPLE"`

	Updates *bool `json:"check_updates,omitempty" name:"updates" negatable:"" help:"Ask once a day whether there is a newer version of Countersign. It is off at first."`

	Elsewhere *bool `json:"saved_elsewhere,omitempty" name:"saved-elsewhere" negatable:"" help:"Save nothing here: another computer saves signed documents."`
	Mine      *bool `json:"notify_mine,omitempty" name:"notify-mine" negatable:"" help:"Tell only of packages that were sent from here or by this account."`

	DueDays    *int    `help:"How many days before its due date people are told of a package, once (3); 0 for never." placeholder:"DAYS"`
	StampURL   *string `json:"stamp_url,omitempty" name:"stamp-url" help:"The address of an authority that stamps the record once a day (RFC 3161); empty for none." placeholder:"URL"`
	RecordCopy *bool   `json:"mirror_record,omitempty" name:"record-copy" negatable:"" help:"Keep a copy of the record in the folder for signed documents."`
	CheckFiles *int    `json:"check_files_days,omitempty" help:"Every how many days all saved files are looked at, whether they are still as they were saved; 0 for never." placeholder:"DAYS"`

	KeepYears  *string `json:"keep_years,omitempty" help:"For how many years signed papers are kept, also by template or watched folder: \"10; Lease: 30\"; empty for without end. Nothing is deleted: list --may-go names them then." placeholder:"RULE"`
	KeepEvents *int    `help:"For how many days the contents of handled events are kept (90)." placeholder:"DAYS"`
}

type serviceFlags struct {
	AuthURL         *string  `json:"auth_url,omitempty" help:"Sign-in address of the service." placeholder:"URL"`
	BaseURL         *string  `json:"base_url,omitempty" help:"Service address, with or without /api/v1." placeholder:"URL"`
	ClientID        *string  `json:"client_id,omitempty" help:"The OAuth client ID." placeholder:"ID"`
	Scope           []string `json:"scopes,omitempty" sep:"none" help:"Scopes, separated by spaces." placeholder:"SCOPES"`
	Redirect        *string  `json:"redirect,omitempty" help:"How the browser returns after the sign-in: tunnel, localhost, loopback or paste." enum:"tunnel,localhost,loopback,paste" placeholder:"WAY"`
	RedirectURI     *string  `json:"redirect_uri,omitempty" name:"redirect-uri" help:"The return address registered with the service, if it is not the one --redirect implies." placeholder:"URL"`
	SignatureHeader *string  `json:"signature_header,omitempty" help:"Event signature header." placeholder:"NAME"`
}

type addressFlags struct {
	Tunnel          *string `json:"tunnel,omitempty" help:"The public address: ngrok, external (your own web server), office (the events come from the main computer) or none." enum:"ngrok,external,office,none,loopback" placeholder:"KIND"`
	NgrokDomain     *string `json:"ngrok_domain,omitempty" help:"The ngrok domain; empty for the account's own." placeholder:"DOMAIN"`
	NgrokConnectURL *string `json:"ngrok_connect_url,omitempty" name:"ngrok-connect-url" help:"The ngrok server, where it is not ngrok's own." placeholder:"HOST:PORT"`
	NgrokCA         *string `json:"ngrok_ca,omitempty" name:"ngrok-ca" help:"PEM file with the certificates to trust for the ngrok server." type:"path" placeholder:"FILE"`
	PublicURL       *string `json:"public_url,omitempty" name:"public-url" help:"With --tunnel external: the public address that reaches --listen." placeholder:"URL"`
	Listen          *string `json:"listen,omitempty" help:"With --tunnel external: where to listen." placeholder:"HOST:PORT"`
	Office          *string `json:"office,omitempty" help:"With --tunnel office: the main computer, as nats://HOST:PORT. Else NATS servers of your own that hand events on to other computers." placeholder:"URLS"`
	OfficePin       *string `json:"office_pin,omitempty" name:"office-pin" help:"The fingerprint of the main computer's key, as an invitation has it." placeholder:"PIN"`
	OfficeListen    *string `json:"office_listen,omitempty" name:"office-listen" help:"Share events with other computers, which connect here; empty not to." placeholder:"HOST:PORT"`
}

type savingFlags struct {
	SaveTo       *string `json:"save_to,omitempty" help:"The folder for signed documents; created if it does not exist." type:"path" placeholder:"DIR"`
	Index        *bool   `json:"index,omitempty" name:"index" negatable:"" help:"List every saved file in index.csv in the folder."`
	CAC          *bool   `json:"save_cac,omitempty" name:"cac" negatable:"" help:"Save certificates too."`
	MasterFile   *bool   `json:"save_masterfile,omitempty" name:"masterfile" negatable:"" help:"Save master files too."`
	NameTemplate *string `json:"name_template,omitempty" help:"Pattern of file names, such as \"{date} {package} - {document}\"." placeholder:"PATTERN"`
}

type fileFlags struct {
	Export     string `help:"Write what the office needs into FILE.countersign, for others to open, and change nothing here. The other options count for the file." type:"path" placeholder:"FILE"`
	WithSecret bool   `help:"With --export: write the client secret into the file, too. Whoever has the file has the secret."`
	Import     string `help:"Take what an administrator has written with --export; the other options come on top." type:"path" placeholder:"FILE" xor:"from"`
	Code       string `xor:"from" help:"Join the office whose main computer shows this code; the other options come on top." placeholder:"CODE"`
	Hub        string `help:"With --code: where that computer is, if it is not found on the local network." placeholder:"HOST:PORT"`
}

// settingsChange is a change; nil fields stay as they are. It travels over the control socket, which only the same user can
// reach.
type settingsChange struct {
	Office  *agent.OfficeFile `json:"office,omitempty"` // applied first
	Setup   setupCmd          `json:"setup"`
	Secrets office.Secrets    `json:"secrets"`
}

func (c settingsChange) apply(s office.Settings) office.Settings {
	if c.Office != nil {
		s = c.Office.Into(s)
	}
	s = changed(s, c.Setup)
	if days := c.Setup.DueDays; days != nil {
		s.DueDays = office.DueDaysFrom(*days)
	}
	if days := c.Setup.KeepEvents; days != nil {
		s.KeepEvents = cmp.Or(*days, -1) // 0 would mean the default
	}
	return s
}

// changed is record with the fields that are set in change; nil fields of change leave it as it is.
func changed[T any](record T, change any) (next T) {
	fields := map[string]json.RawMessage{} // each replaces the field as a whole
	into := func(from, to any) {
		b, err := json.Marshal(from)
		if err == nil {
			err = json.Unmarshal(b, to)
		}
		if err != nil {
			panic(err) // fields of the same name must have the same type
		}
	}
	into(record, &fields)
	into(change, &fields)
	into(fields, &next)
	return next
}

func (l *local) configure(ctx context.Context, change settingsChange) (office.Settings, error) {
	s, err := l.agent.ChangeSettings(ctx, change.apply, change.Secrets)
	if err == nil && change.Setup.SaveTo != nil {
		err = l.agent.AcceptFolder()
	}
	return s, err
}

// export is the office's file including the change, with the client secret only if requested.
func (l *local) export(_ context.Context, change settingsChange) (agent.OfficeFile, error) {
	s := change.apply(l.agent.Settings())
	if !change.Setup.WithSecret {
		return agent.OfficeFile{Settings: s}, nil
	}
	return l.agent.Office(s)
}

func (c *setupCmd) Run(r *run) (err error) {
	if c.WithSecret && c.Export == "" {
		return &usage{"--with-secret goes with --export."}
	}
	change := settingsChange{Setup: *c}
	if c.Import != "" || c.Code != "" {
		read := func() (agent.OfficeFile, error) { return agent.ReadOffice(c.Import) }
		if c.Code != "" {
			read = func() (agent.OfficeFile, error) { return agent.FetchOffice(r.ctx, c.Code, c.Hub) }
		}
		file, err := read()
		if err != nil {
			return err
		}
		change.Office, change.Secrets.ClientSecret, change.Secrets.DeskKey = &file, file.ClientSecret, file.DeskKey
	}
	kept := filepath.Join(r.global.Data, "Invitation"+agent.OfficeEnding) // holds secrets
	defer func() {
		switch {
		case err == nil && c.Import == kept:
			err = os.Remove(kept)
		case err != nil && c.Code != "": // which is used up
			_ = os.Remove(kept) // of an earlier code
			says := "The invitation could not be kept: ask for another code."
			if private.Folder(r.global.Data) == nil && agent.WriteOffice(kept, *change.Office) == nil {
				says = fmt.Sprintf("The invitation was kept for another try: use --import %s in place of --code.", kept)
			}
			_ = r.err.Line("%s", says)
		}
	}()
	if c.Export != "" {
		return c.export(r, change)
	}
	given := change.Secrets.ClientSecret
	if change.Secrets.ClientSecret, err = r.secret(clientSecretVariable, "Client secret", given == "" && (c.ClientID != nil || c.AuthURL != nil || c.BaseURL != nil)); err != nil {
		return err
	}
	change.Secrets.ClientSecret = cmp.Or(change.Secrets.ClientSecret, given)
	wantsToken := c.Tunnel != nil && *c.Tunnel == string(office.TunnelNgrok) || c.NgrokConnectURL != nil
	if change.Secrets.NgrokAuthtoken, err = r.secret(authtokenVariable, "ngrok authtoken", wantsToken); err != nil {
		return err
	}
	o, err := r.office(idle)
	if err != nil {
		return err
	}
	defer o.Close()
	s, err := callSetup.of(r.ctx, o, change)
	if err != nil {
		return err
	}
	_ = r.out.Line("Set up. Signed documents will be saved in %s.", s.SaveTo)
	signIn, service := s.Hosts()
	_ = r.out.Line("People sign in at %s.", signIn)
	if service != "" {
		_ = r.out.Line("Documents go to %s.", service)
	}
	if address := s.ReturnAddress(); address != "" {
		_ = r.out.Line("Return address to register with the service: %s", address)
	}
	return r.tellIssues(o, func(i agent.Issue) bool { return i.Action == agent.ActSettings }) // only problems that other settings or secrets can solve
}

// tellIssues prints the problems that concern a command.
func (r *run) tellIssues(o *instance, concerns func(agent.Issue) bool) error {
	status, err := callStatus.of(r.ctx, o, nothing{})
	if err != nil {
		return err
	}
	for _, i := range status.Health {
		if concerns(i) {
			_ = r.out.Line("%s", i.Text())
		}
	}
	return nil
}

// export writes the file for the people of the office.
func (c *setupCmd) export(r *run, change settingsChange) error {
	path := c.Export
	if !agent.IsOfficeFile(path) {
		path += agent.OfficeEnding
	}
	file, err := callExport.alone(r, idle, change)
	if err != nil {
		return err
	}
	if secret, ok := r.secrets[clientSecretVariable]; ok && c.WithSecret {
		file.ClientSecret = secret
	}
	if c.WithSecret && file.ClientSecret == "" {
		return &failure{"There is no client secret to write. Set " + clientSecretVariable + "."}
	}
	if err := agent.WriteOffice(path, file); err != nil {
		return err
	}
	_ = r.out.Line("Written: %s. It is opened with a double click, or dropped on the first window of Countersign.", path)
	if address := file.Settings.ReturnAddress(); address != "" {
		_ = r.out.Line("Return address to register with the service: %s", address)
	}
	if c.WithSecret {
		_ = r.out.Line("The file contains the client secret, readable by whoever has it. Hand it over safely, and delete it when everyone has opened it.")
	} else {
		_ = r.out.Line("The file contains no secret. Give the client secret to each person separately.")
	}
	return nil
}

// secret reads a secret from the environment, or asks the person at the terminal, if there is one; an empty line leaves the
// secret as it is.
func (r *run) secret(variable, name string, ask bool) (string, error) {
	if v, ok := r.secrets[variable]; ok {
		return v, nil
	}
	in, isFile := r.program.Stdin.(*os.File)
	if !ask || !isFile || !term.IsTerminal(int(in.Fd())) {
		return "", nil
	}
	_ = r.err.Prompt(name + " (empty to leave it as it is): ")
	b, err := term.ReadPassword(int(in.Fd()))
	_ = r.err.Line("")
	if err != nil {
		return "", &failure{"The " + name + " could not be read. Set " + variable + " instead."}
	}
	return string(b), nil
}

// lines sends each line of stdin until its end. The goroutine lives until the process ends: a blocked read cannot be
// interrupted.
func (r *run) lines() <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		for s := bufio.NewScanner(r.program.Stdin); s.Scan(); {
			out <- s.Text()
		}
	}()
	return out
}

// The environment variables that pass secrets to a command.
const (
	clientSecretVariable = "COUNTERSIGN_CLIENT_SECRET"
	authtokenVariable    = "NGROK_AUTHTOKEN"
	passwordVariable     = "COUNTERSIGN_PASSWORD" // of a file in which an office moves
)

// takeSecrets moves the secrets out of this process's environment, so that no browser or other program it starts inherits
// them. A variable that is set but empty is in the map, too. A systemd service gets them as credentials (systemd.exec(5))
// named like the variables.
func takeSecrets() map[string]string {
	taken := map[string]string{}
	for _, name := range []string{clientSecretVariable, authtokenVariable, passwordVariable} {
		if v, ok := os.LookupEnv(name); ok {
			taken[name] = v
			os.Unsetenv(name)
		} else if v, ok := secret.Credential(name); ok {
			taken[name] = v
		}
	}
	return taken
}
