package webhook

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"strings"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/tunnel"
)

// Test opens the public address of s for a moment and returns it. With an own public address it also asks
// whether what is sent there arrives here.
func (r *Service) Test(ctx context.Context, s office.Settings, secrets office.Secrets) (publicURL string, err error) {
	s = s.Normal()
	if s.Tunnel == office.TunnelNone {
		return "", nil
	}
	for _, f := range s.Check() {
		switch f.Field {
		case office.FieldNgrokDomain, office.FieldNgrokConnect, office.FieldNgrokCA, office.FieldPublicURL, office.FieldListen, office.FieldTunnel:
			return "", &office.ConfigError{Fields: []office.FieldError{f}}
		}
	}
	if now := r.Address(); sameTunnel(s, r.Current().Settings) && secrets.NgrokAuthtoken == "" && now.State == "up" {
		return now.URL, nil // the very address is open already
	}
	t, err := r.makeTunnel(s, secrets.NgrokAuthtoken)
	if err != nil {
		return "", tunnelError(err)
	}
	bounded, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	publicURL, err = r.try(bounded, s, t)
	if err != nil && ctx.Err() != nil { // what the attempts met meanwhile is nobody's concern
		err = context.Cause(ctx)
	}
	return publicURL, err
}

func (r *Service) try(ctx context.Context, s office.Settings, t tunnel.Tunnel) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	mark := "/countersign-check/" + rand.Text()
	up := make(chan string, 1)
	var last error
	ended := make(chan error, 1)
	go func() {
		ended <- t.Run(ctx, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if !strings.HasSuffix(req.URL.Path, mark) {
				http.NotFound(w, req)
				return
			}
			io.WriteString(w, mark)
		}), func(st tunnel.State) {
			if st.Phase == tunnel.Up {
				select {
				case up <- st.URL:
				default: // it was up before
				}
			} else if st.Err != nil {
				last = st.Err // read after Run has returned
			}
		})
	}()
	stop := func() error {
		cancel()
		return cmp.Or(<-ended, last)
	}
	select {
	case public := <-up:
		var err error
		if s.Tunnel == office.TunnelExternal {
			err = r.arrives(ctx, strings.TrimSuffix(public, "/")+mark, mark)
		}
		stop()
		return public, err
	case err := <-ended:
		cancel()
		return "", tunnelError(cmp.Or(err, last))
	case <-ctx.Done():
		return "", tunnelError(stop())
	}
}

// arrives asks for address and expects mark.
func (r *Service) arrives(ctx context.Context, address, mark string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := r.HTTP.Do(req)
	if err != nil {
		return message.Error(message.PublicAddressSilent(), err)
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if string(got) != mark {
		return message.Error(message.PublicAddressOther(), nil)
	}
	return nil
}

// tunnelError is err with a sentence for people.
func tunnelError(err error) error {
	if err == nil {
		return message.Error(message.PublicAddressLate(), nil)
	}
	if err == errNoAuthtoken {
		return message.Error(message.TokenMissing(), err)
	}
	return err
}
