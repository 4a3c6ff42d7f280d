package esign

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestAServiceThatSaysInItsOwnFormThatItHasNoSuchPathIsAskedUnderTheOther(t *testing.T) {
	for name, no := range map[string]struct {
		status int
		body   string
	}{
		"in general":  {404, `{"error":"not_found","message":"Not found"}`},
		"about paths": {404, `{"error":"resource_not_found","message":"There is nothing at this address."}`},
		"one word":    {404, `{"error":"Not Found","message":"Cannot GET"}`},
		"the method":  {405, `{"error":"method_not_allowed","message":"Method not allowed"}`},
	} {
		for _, serve := range []string{"", "/api/v1"} {
			t.Run(name+" "+serve, func(t *testing.T) {
				var asked []string
				client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					io.Copy(io.Discard, r.Body)
					asked = append(asked, r.URL.Path)
					if strings.HasPrefix(r.URL.Path, "/api/v1") != (serve != "") {
						w.Header().Set("Content-Type", "application/json")
						w.WriteHeader(no.status)
						io.WriteString(w, no.body)
						return
					}
					switch strings.TrimPrefix(r.URL.Path, "/api/v1") {
					case "/packages/p-1/status":
						io.WriteString(w, bareStatus)
					case "/masterfiles/p-1/pdf/download":
						io.WriteString(w, "%PDF-1.7")
					case "/events/endpoints/set":
						io.WriteString(w, `{"endpoint":{"eventEndpointId":"e","url":"https://x.example.com/A/","secret":"s"}}`)
					default:
						w.WriteHeader(404)
						io.WriteString(w, `{"error":"package_not_found","message":"No such package."}`)
					}
				}))
				ctx := context.Background()
				for range 2 {
					if _, err := client.Status(ctx, "p-2"); kindOf(err) != NotFound || NotServed(err) || !strings.Contains(err.Error(), "package_not_found") {
						t.Errorf("an unknown package: %v", err)
					}
					if _, err := client.Status(ctx, "p-1"); err != nil {
						t.Errorf("status: %v", err)
					}
				}
				d, err := client.Download(ctx, MasterFile, "p-1", "")
				if err != nil {
					t.Fatalf("download: %v", err)
				}
				d.Body.Close()
				if _, err := client.SetEndpoint(ctx, "https://x.example.com/A/"); err != nil {
					t.Errorf("endpoint: %v", err)
				}
				before := len(asked)
				client.Status(ctx, "p-2")
				if len(asked) != before+1 {
					t.Errorf("once the form is known: %s", fmt.Sprint(asked[before:]))
				}
			})
		}
	}
}
