// Package network lets a pvi.Server and its clients be on different machines: connect over HTTP with
// certificates on both sides. A client calls, hands over its answer to the last task, and is held
// until there is a next one, so that no client takes connections. Numbers are JSON in full
// precision: float64 arrives to the bit.
//
// Neither side trusts the other. A client has agreed to a session, of which all messages bear the
// digest; it answers each of its rounds once, whatever it is asked (Journal), and its noise protects
// its records whatever the law is that it is given. The server knows a client by the name in its
// certificate, takes from it what has the size of a change, and keeps the first answer of a round.
package network

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"connectrpc.com/connect"
	"github.com/go-json-experiment/json"

	"github.com/dpreg/dpreg/vi/pvi"
)

// The procedures.
const (
	sessionPath = "/dpreg.pvi.v1.Session/Get"
	updatePath  = "/dpreg.pvi.v1.Session/Update"
)

// empty asks for the session.
type empty struct{}

// answer is what a client says.
type answer struct {
	Session string    `json:"session"` // its digest
	Rows    int64     `json:"rows"`    // of the client: public
	Round   int       `json:"round"`   // that is answered; 0 before the first
	Change  []float64 `json:"change"`
}

// reply is what the server says: a task, the end, or neither, and the client is to call again.
type reply struct {
	Task *pvi.Task `json:"task"`
	End  *End      `json:"end"`
}

// End is what all learn when the rounds are over.
type End struct {
	Global []float64 `json:"global"`
	Rows   int64     `json:"rows"` // of all clients
}

// Times of a call.
const (
	hold    = 20 * time.Second // how long a client is held
	patient = time.Minute      // beyond which a call has failed, hold aside
)

// codec is JSON of the structs above, in place of protocol buffers.
type codec struct{}

func (codec) Name() string                  { return "json" }
func (codec) Marshal(v any) ([]byte, error) { return json.Marshal(v) }
func (codec) Unmarshal(text []byte, v any) error {
	return json.Unmarshal(text, v, json.RejectUnknownMembers(true))
}

func options() connect.Option {
	return connect.WithOptions(connect.WithCodec(codec{}), connect.WithReadMaxBytes(maxFile))
}

// Identity names PEM files: who one is, and the authority that says who the others are.
type Identity struct{ Cert, Key, CA string }

// config is that of both sides, over TLS 1.3.
func (i Identity) config() (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(i.Cert, i.Key)
	if err != nil {
		return nil, fmt.Errorf("the certificate %s and its key %s: %w", i.Cert, i.Key, err)
	}
	text, err := os.ReadFile(i.CA)
	if err != nil {
		return nil, err
	}
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate of an authority in PEM", i.CA)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own},
		RootCAs: authority, ClientCAs: authority, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}
