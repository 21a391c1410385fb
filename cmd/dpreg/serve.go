package main

import (
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/dpreg/dpreg/serve"
	"github.com/dpreg/dpreg/signature"
)

// runServe opens a local page on releases, until it is interrupted.
func runServe(f *flags, paths []string) error {
	var sources []serve.Source
	for _, path := range paths {
		r, err := f.readRelease(path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return usage(err)
		}
		sources = append(sources, serve.Source{Name: path, Digest: fmt.Sprintf("%x", sha256.Sum256(text)), Release: r})
	}
	server, err := serve.Open(f.port, signature.Version(), sources...)
	if err != nil {
		return usage(err)
	}
	if _, err := fmt.Fprintln(f.stdout(), server.URL()); err != nil {
		return err
	}
	f.note("open this address in a browser of this machine, and give it to nobody; Ctrl-C ends it")
	return server.Run(f.ctx())
}
