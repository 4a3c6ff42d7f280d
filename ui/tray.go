package ui

import (
	"context"
	"encoding/binary"
	"log/slog"
	"runtime"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/systray"

	"countersign/assets"
	"countersign/internal/agent"
	"countersign/ui/i18n"
	"countersign/ui/system"
	"countersign/ui/window"
)

// RunTray shows only the tray until the person quits or ctx ends: for an office that keeps working after Run found that its window
// cannot be drawn. o.Why explains that when people ask for the window. Call it on the main goroutine, once.
func RunTray(ctx context.Context, o Options) error {
	if err := i18n.Load(); err != nil {
		return err
	}
	i18n.Use(o.Office.Settings().Language)
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	b := window.Bare{
		Office: o.Office, System: system.Opener{}, Now: time.Now, Why: o.Why, Quit: quit,
		Report: func(err error) {
			if err != nil && ctx.Err() == nil {
				Alert(agent.Message(err))
			}
		},
	}
	ready, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ready:
			keepTray(ctx, b, o.Incoming)
		case <-ctx.Done():
		}
		if o.Ending != nil {
			o.Ending()
		}
		systray.Quit()
	}()
	systray.Run(func() {
		systray.SetTitle("Countersign")
		systray.SetOnTapped(func() { go o.Why() })
		close(ready)
	}, func() {})
	quit()
	<-done
	return nil
}

// keepTray keeps the tray up to date until ctx ends.
func keepTray(ctx context.Context, b window.Bare, incoming <-chan []string) {
	changes, stop := b.Office.Watch()
	defer stop()
	panel := panel{ctx: ctx}
	for {
		next := b.Tray()
		panel.show(next)
		select {
		case <-ctx.Done():
			return
		case change, open := <-changes:
			if !open {
				changes = nil
			} else if _, asked := change.Shows(); asked { // another start, or a press on a notification
				go b.Why()
			}
		case _, open := <-incoming: // the other start has told the person already
			if !open {
				incoming = nil
			}
		case <-next.Until(b.Now()):
		}
	}
}

// panel is what the system's panel shows now, to avoid costly updates without a change.
type panel struct {
	ctx   context.Context // as long as clicks count
	shown window.BareTray
}

func (p *panel) show(t window.BareTray) {
	if t.Icon != p.shown.Icon {
		if icon, err := icon(t.Icon); err != nil {
			slog.Error("read the tray icon", "err", err)
		} else {
			systray.SetIcon(icon)
		}
	}
	if t.Tooltip != p.shown.Tooltip {
		systray.SetTooltip(t.Tooltip)
	}
	if t.Says != p.shown.Says {
		p.menu(t.Items)
	}
	p.shown = t
}

func (p *panel) menu(items []*fyne.MenuItem) {
	systray.ResetMenu()
	for _, e := range items {
		if e.IsSeparator {
			systray.AddSeparator()
			continue
		}
		item := systray.AddMenuItem(e.Label, "")
		if e.Action == nil {
			item.Disable()
			continue
		}
		go func() {
			for {
				select {
				case <-p.ctx.Done():
					return
				case _, clicked := <-item.ClickedCh:
					if !clicked { // the menu has changed meanwhile
						return
					}
					go e.Action()
				}
			}
		}()
	}
}

// icon returns the tray's icon in the system's format: PNG, on Windows an icon file with one picture (ICONDIR and ICONDIRENTRY in
// Microsoft's documentation).
func icon(state assets.Tray) ([]byte, error) {
	const size, head = 64, 22
	picture, err := assets.TrayIcon(state, size)
	if err != nil || runtime.GOOS != "windows" {
		return picture, err
	}
	file := []byte{0, 0, 1, 0, 1, 0, size, size, 0, 0, 1, 0, 32, 0}
	file = binary.LittleEndian.AppendUint32(file, uint32(len(picture)))
	file = binary.LittleEndian.AppendUint32(file, head)
	return append(file, picture...), nil
}
