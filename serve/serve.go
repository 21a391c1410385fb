// Package serve is a local page on which releases are asked: an analyst without a shell picks
// columns, a prior and a method, sees how far the chains are, tables and pictures, and takes away
// the report and the commands that repeat it. Rows cannot reach it: it has the releases that it was
// opened with, and takes no file and no path from a request.
//
// Who may use it is who knows its address. It listens on the loopback interface alone, and all its
// paths begin with 128 random bits, which no other page, and no other user of the machine, can
// guess: so no site can make a browser post to it (forged requests), nor read it under a name of its
// own that leads here (DNS rebinding), which the Host header forbids besides.
package serve

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/dpreg/dpreg/release"
)

// Source is a release, by the name of its file and the SHA-256 of that in hexadecimal.
type Source struct {
	Name, Digest string
	Release      *release.Release
}

// Server is the page of some releases.
type Server struct {
	sources  []Source
	version  string
	listener net.Listener
	hosts    []string // by which it may be called
	token    string
	pages    http.Handler
	runs     *runs
}

// Open listens on the loopback interface; port 0 is one that is free. version is the program's.
// Errors: no release, one that is given twice, a port that is taken.
func Open(port int, version string, sources ...Source) (*Server, error) {
	if len(sources) == 0 {
		return nil, errors.New("there is no release to ask")
	}
	for i, s := range sources {
		for _, other := range sources[:i] {
			if s.Digest == other.Digest {
				return nil, fmt.Errorf("%s and %s are the same release: its rows would count twice", other.Name, s.Name)
			}
		}
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	var token [16]byte
	rand.Read(token[:]) // never fails
	s := &Server{sources: sources, version: version, listener: listener, token: hex.EncodeToString(token[:]), runs: newRuns()}
	taken := listener.Addr().(*net.TCPAddr).Port
	s.hosts = []string{fmt.Sprintf("127.0.0.1:%d", taken), fmt.Sprintf("localhost:%d", taken)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.home)
	mux.HandleFunc("POST /runs", s.start)
	mux.HandleFunc("GET /runs/{id}", s.of(s.show))
	mux.HandleFunc("POST /runs/{id}/stop", s.of(s.stop))
	mux.HandleFunc("GET /runs/{id}/report.html", s.of(s.report))
	mux.HandleFunc("GET /runs/{id}/commands.txt", s.of(s.commands))
	s.pages = http.StripPrefix(strings.TrimSuffix(s.base(), "/"), http.NewCrossOriginProtection().Handler(mux))
	return s, nil
}

// base is what all paths begin with.
func (s *Server) base() string { return "/" + s.token + "/" }

// URL is the address of the page.
func (s *Server) URL() string { return "http://" + s.hosts[0] + s.base() }

// Run serves until ctx ends, and then stops what runs.
func (s *Server) Run(ctx context.Context) error {
	defer s.runs.cancel()
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: time.Minute, MaxHeaderBytes: 1 << 16}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(s.listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return errors.Join(server.Close(), ctx.Err())
	}
}

// policy lets a page have its own styles and forms, and nothing else: no script, no network.
const policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP answers who knows the address, by one of its names.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{"Content-Security-Policy": policy, "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
		"Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
		w.Header().Set(name, value)
	}
	known := 0
	for _, host := range s.hosts {
		known |= subtle.ConstantTimeCompare([]byte(r.Host), []byte(host))
	}
	token, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if known&subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 {
		http.Error(w, "This is not the address that dpreg serve printed.", http.StatusForbidden)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	s.pages.ServeHTTP(w, r)
}

// maxForm bounds what is posted, in bytes.
const maxForm = 1 << 20
