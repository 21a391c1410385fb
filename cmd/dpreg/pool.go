package main

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/report"
)

// Custodians who release the sum of their sums with one noise.

func makeMember(f *flags, args []string) error {
	secret, public := args[0]+".member.key", args[0]+".member"
	if err := custody.NewMember(filepath.Base(args[0]), secret, public); err != nil {
		return err
	}
	f.note("%s is yours alone, and for one session; send %s to who writes the session (dpreg pool agree)", secret, public)
	return nil
}

func agree(f *flags, args []string) error {
	if !f.given("colluding") {
		return usagef("--colluding is missing: say how many custodians may show each other all that they have, as in --colluding 1")
	}
	privacy, err := f.privacy()
	if err != nil {
		return err
	}
	var members []custody.Member
	for _, path := range args {
		m, err := custody.ReadMember(path)
		if err != nil {
			return err
		}
		members = append(members, m)
	}
	path := cmp.Or(f.output, "pool.session")
	design, _, err := (&dataset{flags: f, remote: aggregatesFile("the session")}).design(path)
	if err != nil {
		return err
	}
	s, err := custody.NewSession(members, f.colluding, f.absent, privacy, design)
	if err != nil {
		return err
	}
	if err := s.Write(path); err != nil {
		return err
	}
	f.note("%s", s)
	f.note("%s written: send it to all custodians, who compare its digest by another way. Next, each: dpreg pool share", path)
	return nil
}

func runShare(f *flags, args []string) error {
	key, err := f.member()
	if err != nil {
		return err
	}
	s, err := custody.ReadSession(f.session)
	if err != nil {
		return within("--session", err)
	}
	d := &dataset{flags: f}
	path := cmp.Or(f.output, key.Name+".shares")
	data, err := d.locate(args, path)
	if err != nil {
		return err
	}
	defer d.close()
	a := f.ledgerOf(data)
	o := custody.Order{Path: path, Ledger: a.Path, MakeLedger: a.Make, NoLedger: f.noLedger, Say: f.say, PadTime: time.Duration(f.padTime * float64(time.Second))}
	f.neighbours = string(s.Privacy.Neighbours)
	if o.Cells, err = f.cells(true); err != nil {
		return err
	}
	if d.remote == nil {
		if d.source, err = f.find(data); err != nil {
			return err
		}
		d.source.Done = f.ctx().Done()
	}
	o.Rows = d.rowsOf()
	f.note("%s", s)
	f.noteMissing(o.Cells)
	if err := s.Share(f.ctx(), o, key); err != nil {
		return err
	}
	f.note("next, once shares of all are there: dpreg pool mask --key %s *.shares", files.Quoted(f.memberKey))
	return nil
}

func runMask(f *flags, args []string) error {
	key, err := f.member()
	if err != nil {
		return err
	}
	path := cmp.Or(f.output, key.Name+".masked")
	if err := custody.Mask(key, path, args); err != nil {
		return err
	}
	f.note("%s written, and the key is gone. Publish it. Next, anybody: dpreg pool *.masked", path)
	return nil
}

// member is the key of --key.
func (f *flags) member() (custody.MemberKey, error) {
	if f.memberKey == "" {
		return custody.MemberKey{}, usagef("--key is missing: the file NAME.member.key that dpreg pool key made")
	}
	k, err := custody.ReadMemberKey(f.memberKey)
	return k, within("--key", err)
}

func runPool(f *flags, args []string) error {
	r, err := custody.Total(args)
	if err != nil {
		return err
	}
	path := cmp.Or(f.output, "pooled.release.json")
	if err := r.WriteNewFile(path); err != nil {
		return usage(err)
	}
	if err := report.Statement(f.stdout(), r); err != nil {
		return err
	}
	f.note("release written to %s. Next: dpreg infer %s", path, files.Quoted(path))
	return nil
}
