package main

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/report"
	"github.com/dpreg/dpreg/signature"
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
	terms := custody.Session{Colluding: f.colluding, Absent: f.absent}
	var members []custody.Member
	for _, path := range args {
		m, err := custody.ReadMember(path)
		if err != nil {
			return err
		}
		members = append(members, m)
	}
	path := cmp.Or(f.output, "pool.session")
	if err := f.agreeUpon(&terms, path); err != nil {
		return err
	}
	s, err := custody.NewSession(members, terms)
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

// agreeUpon reads what a session is of: of a look after others the release of these.
func (f *flags) agreeUpon(s *custody.Session, path string) (err error) {
	if f.former != "" {
		if err := f.refuseGiven("schema bounds levels other formula eps delta neighbours steps rows person-rows", "--%s is agreed upon for all looks, and --former FILE has it"); err != nil {
			return err
		}
		s.Former, err = release.ReadFile(f.former)
		return usage(err)
	}
	s.Rows, s.Persons = f.rows, f.personRows
	if s.Privacy, err = f.privacy(); err != nil {
		return err
	}
	if s.Steps, err = custody.ParseSteps(f.looks); err != nil {
		return err
	}
	design, _, err := (&dataset{flags: f, remote: pushdown.File("the session")}).design(path)
	if err == nil {
		s.Schema = *design
	}
	return err
}

func runShare(f *flags, args []string) error {
	key, err := f.member()
	if err == nil && f.session == "" {
		err = usagef("--session is missing: the file that dpreg agree wrote")
	}
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
	o := custody.Order{Path: path, Ledger: a.Path, MakeLedger: a.Make, NoLedger: f.noLedger, Say: f.say, Persons: custody.Persons{Column: f.person}, PadTime: time.Duration(f.padTime * float64(time.Second))}
	f.neighbours = string(s.Privacy.Neighbours)
	if o.Cells, err = f.cells(true); err != nil {
		return err
	}
	if err := d.findRows(data); err != nil {
		return err
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

func (f *flags) member() (custody.MemberKey, error) {
	if f.memberKey == "" {
		return custody.MemberKey{}, usagef("--key is missing: the file NAME.member.key that dpreg pool key made")
	}
	k, err := custody.ReadMemberKey(f.memberKey)
	return k, within("--key", err)
}

func runPool(f *flags, args []string) error {
	key, err := f.signer()
	if err != nil {
		return err
	}
	r, err := custody.Total(args)
	if err != nil {
		return err
	}
	path := cmp.Or(f.output, "pooled.release.json")
	if err := r.WriteNewFile(path); err != nil {
		return usage(err)
	}
	if key != nil {
		if err := key.Sign(path, signature.Statement{Program: signature.Version(), Time: time.Now()}); err != nil {
			return err
		}
		f.note("signed: %s", path+signature.Suffix)
	}
	if err := report.Statement(f.stdout(), r); err != nil {
		return err
	}
	f.note("release written to %s. Next: dpreg infer %s", path, files.Quoted(path))
	if p := r.Pooled; p.Rounds > int64(len(r.Looks())) {
		f.note("look %d of %d: the next one has new keys, and dpreg pool agree --former %s", len(r.Looks()), p.Rounds, files.Quoted(path))
	}
	return nil
}
