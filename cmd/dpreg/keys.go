package main

import (
	"errors"

	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/signature"
)

// Keys that sign releases, and signatures.

func makeKeys(f *flags, args []string) error {
	secret, public := args[0]+".key", args[0]+".pub"
	id, err := signature.NewKey(secret, public)
	if err != nil {
		return usage(err)
	}
	f.note("%s signs, and is yours alone; %s verifies, and is for everybody: the key %s. Next: dpreg release --sign %s", secret, public, id, files.Quoted(secret))
	return nil
}

// verifySigned refuses a release that none of the keys of --verify signed, or that is not the one
// which its signature is of; text is what is in the file.
func (f *flags) verifySigned(path string, text []byte) error {
	var keys []signature.Public
	for _, file := range f.verify {
		k, err := signature.ReadPublic(file)
		if err != nil {
			return usage(within("--verify", err))
		}
		keys = append(keys, k)
	}
	s, by, err := signature.Verify(path, text, keys...)
	switch {
	case errors.Is(err, signature.ErrUnsigned) && len(keys) == 0:
		return nil
	case err != nil:
		return usage(err)
	case len(keys) == 0:
		f.note("%s says to be signed by the key %s, which is not verified: --verify FILE.pub does that", path, by)
	case s.Program == "":
		f.note("%s is as the key %s signed it", path, by)
	default:
		ledger := "no ledger"
		if s.Ledger != "" {
			ledger = "a ledger with the head " + s.Ledger
		}
		f.note("%s is as the key %s signed it at %s, by dpreg %s, charged to %s", path, by, s.Time.Format("2006-01-02 15:04:05 MST"), s.Program, ledger)
	}
	return nil
}
