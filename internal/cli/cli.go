// Package cli implements the commands: it reads the command line, finds or starts the agent of the data folder, and reports
// the result in one line and an exit code. It knows how to reach a running instance and what each command prints; the work
// itself is the agent's. It knows no Fyne: main passes the window in.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"countersign/internal/agent"
	"countersign/internal/cli/terminal"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/single"

	"github.com/alecthomas/kong"
)

const (
	exitDone   = 0
	exitFailed = 1 // with one clear line on stderr
	exitUsage  = 2
)

// Program is what main passes in.
type Program struct {
	Version string
	// Window shows the window and the tray until the person quits. It must return after ctx ends. It is nil in a program
	// built without a window.
	Window func(ctx context.Context, w Window) error
	// CannotDraw is Window's error if the screen cannot draw it. WithoutWindow then shows only the tray, until the person
	// quits.
	CannotDraw    error
	WithoutWindow func(ctx context.Context, w Window) error
	// Alert shows people a message in the desktop's own message box, and reports whether they can have seen it. It is nil in
	// a program built without a window.
	Alert func(m message.Message) bool
	// Display returns why no window can be shown on this computer, nil if one can. It goes with Window.
	Display func(ctx context.Context) error
	// Words is the printer for notifications and for the page after a sign-in, in the window's language. If it is nil they
	// are in English, like the commands.
	Words func() *message.Printer
	// Language is the language of the window, such as "de"; it goes with Words.
	Language func() string
	// OpenAddress opens a web address in the browser; it may take some seconds.
	OpenAddress func(address string) error
	// OpenSaved opens a saved file, or its folder, for a person who pressed a notification; see agent.Params.
	OpenSaved func(path string, inFolder bool, token string) error

	// Forget removes what the window and its toolkit store for this person outside the data folder. It is nil in a program
	// built without a window.
	Forget func() error

	// TakeOver makes another installation of the program give way to this one if necessary; it goes with Window.
	TakeOver func() error

	// Updates and UpdateKeys are where newer versions are announced, and the keys that must sign the announcement; see
	// agent.Updates. The linker sets them for a release.
	Updates, UpdateKeys string

	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Window is the input of Program.Window.
type Window struct {
	Agent    *agent.Agent
	Version  string
	Files    []string        // to send, from the command line
	Incoming <-chan []string // files from later starts
	Demo     bool
	Chosen   bool   // the data folder or the key file was chosen: Countersign would start without them by itself
	Hidden   bool   // start in the tray
	Why      func() // tells people why there is no window, only for WithoutWindow
	// Ending must be called when the window begins to end; any goroutine may call it, more than once. After that the program
	// ends in time, even if Window never returns.
	Ending func()
	// StartDemo starts the demo beside the office, for a person without an account; nil in the demo itself.
	StartDemo func(ctx context.Context) (a *agent.Agent, stop func(), err error)
}

// commands is the command line for kong: the global flags, and the commands in the order of the help.
type commands struct {
	globals
	officeCommands
	packageCommands
	programCommands
	ownCommands
}

type globals struct {
	chosen bool // the data folder was chosen, by --data or COUNTERSIGN_DATA

	Data    string `help:"The data folder." env:"COUNTERSIGN_DATA" placeholder:"DIR" type:"path"`
	KeyFile string `help:"Keep the key in this file instead of the keyring (for servers)." placeholder:"FILE" type:"path"`
	Debug   bool   `help:"Log in detail. Secrets are never logged."`

	ShowVersion kong.VersionFlag `name:"version" help:"Show the version."`
}

type officeCommands struct {
	Open   openCmd   `cmd:"" default:"withargs" help:"Open the window; files given are made ready to send."`
	Demo   demoCmd   `cmd:"" help:"Show the whole job on a signing service inside this program: no account, no internet."`
	Serve  serveCmd  `cmd:"" help:"Work without a window until stopped."`
	Setup  setupCmd  `cmd:"" help:"Set up without the window. Secrets come from COUNTERSIGN_CLIENT_SECRET and NGROK_AUTHTOKEN, or are asked for."`
	Login  loginCmd  `cmd:"" help:"Sign in."`
	Logout logoutCmd `cmd:"" help:"Sign out, at the service too."`
}

type packageCommands struct {
	Send      sendCmd      `cmd:"" help:"Send documents for signature."`
	Withdraw  withdrawCmd  `cmd:"" help:"Withdraw packages that wait for signatures."`
	Verify    verifyCmd    `cmd:"" help:"Say whether documents were sent or saved here, are sealed, by whom, and are unchanged since."`
	Record    recordCmd    `cmd:"" help:"Print one line that stands for everything that was recorded so far, or check one that was kept."`
	Trust     trustCmd     `cmd:"" help:"List those who are trusted to vouch for seals beside the system's authorities, or add those of a file."`
	Prove     proveCmd     `cmd:"" help:"Write what proves a package to somebody without Countersign: its documents, events and seals, and how to check them."`
	Lists     listsCmd     `cmd:"" help:"Show the lists that were sent, pause or stop one, or write what became of its lines."`
	Link      linkCmd      `cmd:"" help:"Print the link with which a person signs a package; whoever has it can sign."`
	Templates templatesCmd `cmd:"" help:"List the service's templates, those used last first."`
	List      listCmd      `cmd:"" help:"List the packages."`
	Show      showCmd      `cmd:"" help:"Show one package: its people, documents, files, and what happened."`
	Events    eventsCmd    `cmd:"" help:"Show what the service reported, or follow it."`
	Folders   foldersCmd   `cmd:"" help:"Watched folders: what appears in one becomes a package."`
	Desks     desksCmd     `cmd:"" help:"The other computers of the office, which this one shares events with."`
	Status    statusCmd    `cmd:"" help:"Show what is connected, waiting, saved and wrong."`
}

type programCommands struct {
	Quit    quitCmd    `cmd:"" help:"End the running Countersign as its menu does, and wait until it has ended."`
	Sandbox sandboxCmd `cmd:"" help:"Run the embedded signing service alone, for trying things out and for tests."`
	Move    moveCmd    `cmd:"" help:"Move the office to another computer, with everything it is, in one sealed file. The password comes from COUNTERSIGN_PASSWORD, or is asked for."`
	Restore restoreCmd `cmd:"" help:"Put a backup in the place of the data as it is, which is kept beside."`
	Version versionCmd `cmd:"" help:"Show the version."`
	Help    helpCmd    `cmd:"" help:"Show what a command does, or all of them."`
}

// ownCommands are for the program itself and its installers.
type ownCommands struct {
	Page   pageCmd   `cmd:"" hidden:"" help:"Read a document, for the window."`
	Press  pressCmd  `cmd:"" hidden:"" help:"Read a document, for the embedded service."`
	Forget forgetCmd `cmd:"" hidden:"" help:"Remove all that Countersign keeps of you on this computer, but for the documents that were saved. For uninstallers."`
}

const description = `Countersign sends documents for signature and saves what comes back.

Without a command it opens the window. With --data and --key-file every command works on another office's data.
Exit codes: 0 done, 1 failed (with one line saying why), 2 wrong usage.`

// exit carries kong's own exits (--help) to Main, as a panic.
type exit int

// Main runs the command line and returns the exit code.
func Main(args []string, p Program) (code int) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(exit)
			if !ok {
				panic(r)
			}
			code = int(e)
		}
	}()
	secrets := takeSecrets()
	args = pressed(args)
	console := console{}.attach(&p)
	out, errs := terminal.New(p.Stdout), terminal.New(p.Stderr)
	defer log.SetOutput(log.Writer())
	log.SetOutput(errs) // for messages of libraries
	var c commands
	k := parser(&c, p.Version, out, errs)
	chosen, err := k.Parse(args)
	if errors.Is(err, terminal.ErrUnwritable) {
		return fail(errs, err)
	}
	if err == nil && chosen.Selected().Name == "open" {
		err = c.Open.wrong()
	} else if err != nil {
		err = nearest(args, err)
	}
	if i := slices.IndexFunc(args, func(a string) bool { return !utf8.ValidString(a) }); i >= 0 { // kong has read another name
		err = fmt.Errorf("%q is not UTF-8: rename the file", args[i])
	}
	if err != nil {
		_ = errs.Line("countersign: %s See countersign --help.", asSentence(err))
		if !console.heard() && !namesCommand(k, args) {
			p.show(message.CommandWrong(err.Error()))
		}
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	if deaf, err := single.OnAsked(quit); err == nil { // if it fails, the installer asks people to quit
		defer deaf()
	}
	if err := c.complete(); err != nil && !readsDocument(chosen) { // which needs no data folder
		if c.opens(chosen) {
			defer p.alarm(console, c.why(err))
		}
		return fail(errs, err)
	}
	r := &run{ctx: ctx, quit: quit, program: p, global: c, secrets: secrets, console: console, out: out, err: errs}
	if c.opens(chosen) {
		return r.open(chosen)
	}
	return fail(errs, chosen.Run(r))
}

// pressed removes the argument that Windows adds to args, which name no command, when it starts the program because a notification
// was pressed (COM, local servers).
func pressed(args []string) []string {
	last := len(args) - 1
	if last < 0 || !strings.EqualFold(args[last], "-Embedding") && !strings.EqualFold(args[last], "/Embedding") {
		return args
	}
	if last > 0 && !strings.HasPrefix(args[0], "--") {
		return args
	}
	return args[:last]
}

// open runs a command that shows a window, and tells people about any error that prevents it.
func (r *run) open(chosen *kong.Context) (code int) {
	told := func(err error) int {
		code := fail(r.err, err)
		if err != nil {
			r.program.alarm(r.console, r.global.why(err))
		}
		return code
	}
	defer func() {
		if reason := recover(); reason != nil {
			code = told(r.global.crashed(reason))
		}
	}()
	return told(chosen.Run(r))
}

func readsDocument(chosen *kong.Context) bool {
	return strings.HasPrefix(chosen.Command(), "page ") || chosen.Command() == "press"
}

func parser(c *commands, version string, out, err io.Writer) *kong.Kong {
	k, wrong := kong.New(c,
		kong.Name("countersign"), kong.Description(description), kong.UsageOnError(),
		kong.Writers(out, err), kong.Vars{"version": "countersign " + version}, kong.Exit(func(code int) { panic(exit(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.NamedMapper("path", kong.MapperFunc(decodePath)),
	)
	if wrong != nil {
		panic(wrong) // a mistake in commands
	}
	return k
}

var paths = kong.NewRegistry().RegisterDefaults()

// decodePath refuses an empty path, as of a shell's variable that is not set: kong takes it for the working directory. An empty
// environment variable of ours is as good as none.
func decodePath(ctx *kong.DecodeContext, target reflect.Value) error {
	if t := ctx.Scan.Peek(); !t.IsEOL() && t.String() == "" {
		if slices.ContainsFunc(ctx.Value.Tag.Envs, func(name string) bool { v, set := os.LookupEnv(name); return set && v == "" }) {
			ctx.Scan.Pop()
			return nil
		}
		return errors.New("the path is empty")
	}
	return paths.ForNamedValue("path", target).Decode(ctx, target)
}

// Grammar is the command line as data, for the manual page.
func Grammar() *kong.Application {
	return parser(new(commands), "", io.Discard, io.Discard).Model
}

// run is the context of every command.
type run struct {
	ctx     context.Context
	quit    func() // ends ctx, and with it a command that runs until stopped
	program Program
	global  commands
	secrets map[string]string // from the environment, by variable

	out, err *terminal.Writer // all output to people goes through these
	console  console
	windowed bool // a window is about to be shown
}

// complete determines the data folder.
func (c *commands) complete() error {
	if c.chosen = c.Data != ""; c.chosen {
		return nil
	}
	var err error
	if c.Data, err = locations.Default(); err != nil {
		return message.Error(message.DataFolderUnnamed(), err)
	}
	return nil
}

// jsonFlag is the flag of commands that print for people or for programs.
type jsonFlag struct {
	JSON bool `name:"json" help:"Print JSON, as countersign help admin documents it."`
}

// print prints data as JSON if requested, otherwise calls words.
func (f jsonFlag) print(r *run, data any, words func(*terminal.Writer) error) error {
	if f.JSON {
		return r.out.JSON(data)
	}
	return words(r.out)
}

// failure is an error whose text is one sentence for people.
type failure struct{ text string }

func (f *failure) Error() string { return f.text }

// usage is a mistake in the command line that kong could not detect.
type usage struct{ text string }

func (u *usage) Error() string { return u.text }

// fail prints an error in one line, and returns the exit code.
func fail(w *terminal.Writer, err error) int {
	var wrong *usage
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &wrong):
		_ = w.Line("countersign: %s See countersign --help.", wrong.text)
		return exitUsage
	}
	_ = w.Line("countersign: %s", said(err))
	return exitFailed
}

// said is the text for people of err, empty for nil.
func said(err error) string {
	var known *failure
	if errors.As(err, &known) {
		return known.text
	}
	if errors.Is(err, terminal.ErrUnwritable) { // the command itself may be done: repeated, it would send a second package
		return "The output could not be written; the disk may be full. Look at countersign status before doing it again."
	}
	return agent.Message(err).String()
}
