package esign

import "testing"

func TestAnIssuerIsTheSameHoweverItIsWritten(t *testing.T) {
	config := func(auth, base, client string) Config {
		return Config{AuthURL: auth, BaseURL: base, ClientID: client}
	}
	one := config("https://auth.example.com", "https://api.example.com", "office")
	for _, same := range []Config{
		config("https://AUTH.example.com/", "https://api.example.com/api/v1", "office"),
		config("HTTPS://auth.example.com:443", "https://api.example.com:443/api/v1/", "office"),
	} {
		if same.Issuer() != one.Issuer() {
			t.Errorf("%v is another issuer than %v", same, one)
		}
	}
	for _, other := range []Config{
		config("https://auth.example.com/x", one.BaseURL, one.ClientID), config(one.AuthURL, "https://api.example.com:8443", one.ClientID),
		config(one.AuthURL, one.BaseURL, "Office"), config("http://auth.example.com", one.BaseURL, one.ClientID),
		config(one.BaseURL, one.AuthURL, one.ClientID),
	} {
		if other.Issuer() == one.Issuer() {
			t.Errorf("%v is the same issuer as %v", other, one)
		}
	}
}
