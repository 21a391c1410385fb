package main

import (
	"fmt"

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
		digest, err := digestOf(path)
		if err != nil {
			return err
		}
		sources = append(sources, serve.Source{Name: path, Digest: digest, Release: r})
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
