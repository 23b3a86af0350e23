package push

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// IsEndpoint reports whether an address can be a push service's: https, a host and nothing but. Whether the host is somewhere we may ask is
// judged by its addresses, when it is asked.
func IsEndpoint(address string) bool {
	u, err := url.Parse(address)
	return err == nil && len(address) <= 2000 && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}

// errPrivate is a connection to an address that is not the public net's.
var errPrivate = errors.New("not a public address")

// transport connects to public addresses only. It is judged after the name was looked up, at the moment of connecting, so that a name which
// changes its address in between gains nothing. No proxy and no redirect leads around it.
func transport(testing Testing) *http.Transport {
	dialer := &net.Dialer{Timeout: 4 * time.Second, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return errPrivate
		}
		if testing.Loopback && at.Addr().Unmap().IsLoopback() {
			return nil
		}
		if at.Port() != 443 || !isPublic(at.Addr()) {
			return errPrivate
		}
		return nil
	}}
	return &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: testing.Roots}, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: 4 * time.Second, ResponseHeaderTimeout: sendLimit, MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 20, IdleConnTimeout: time.Minute}
}

// reserved are the nets that lead elsewhere than to a public host and have no predicate of their own (IANA's special-purpose registries).
var reserved = prefixes("0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 " +
	"::/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fec0::/10")

func prefixes(list string) (nets []netip.Prefix) {
	for _, text := range strings.Fields(list) {
		nets = append(nets, netip.MustParsePrefix(text))
	}
	return nets
}

// isPublic reports whether an address is a host of the public net.
func isPublic(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, net := range reserved {
		if net.Contains(addr) {
			return false
		}
	}
	return true
}
