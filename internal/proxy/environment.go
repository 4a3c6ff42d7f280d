package proxy

import (
	"net/url"
	"os"

	"golang.org/x/net/http/httpproxy"
)

// fromEnvironment is what the environment says, as the standard library reads it, and with ALL_PROXY, which it does not
// know. decided is false when it has nothing to say. NO_PROXY counts for the system's proxy, too.
func fromEnvironment(to *url.URL) (answer Answer, decided bool, err error) {
	config := httpproxy.FromEnvironment()
	for _, name := range []string{"ALL_PROXY", "all_proxy"} {
		if config.HTTPSProxy == "" {
			config.HTTPSProxy = os.Getenv(name)
		}
	}
	named := config.HTTPSProxy
	config.HTTPSProxy = "http://proxy.invalid" // to learn what NO_PROXY says
	if way, err := config.ProxyFunc()(to); err == nil && way == nil {
		return Answer{straight, Environment}, true, nil
	}
	if named == "" {
		return Answer{straight, Nothing}, false, nil
	}
	way, err := parseWay(named)
	if err != nil {
		return Answer{}, true, &Error{unreadable: true}
	}
	return Answer{[]*url.URL{way}, Environment}, true, nil
}
