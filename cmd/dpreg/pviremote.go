package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/dpreg/dpreg/custody"
	"github.com/dpreg/dpreg/internal/files"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/mechanisms/accounting"
	"github.com/dpreg/dpreg/pushdown"
	"github.com/dpreg/dpreg/table"
	"github.com/dpreg/dpreg/vi/pvi"
	"github.com/dpreg/dpreg/vi/pvi/network"
)

// Clients over a network.

// servePVI drives the clients of these names. It has no rows.
func servePVI(f *flags, names []string) (err error) {
	if err := f.checkIdentity(); err != nil {
		return err
	}
	if err := f.checkErrorSD(); err != nil {
		return err
	}
	dir := cmp.Or(f.session, "pvi.session")
	r := &viFit{dataset: &dataset{flags: f, remote: pushdown.File("the session")}}
	privacy, err := r.pviPrivacy()
	if err != nil {
		return err
	}
	if r.design, err = r.viDesign(""); err != nil {
		return err
	}
	if err := r.checkOutputs(""); err != nil {
		return err
	}
	s := r.newSession(names, privacy)
	training, err := s.Training()
	if err != nil {
		return usage(err)
	}
	server, err := network.Listen(f.listen, f.identity, dir, *s, time.Duration(f.wait*float64(time.Second)), f.say)
	if err != nil {
		return usage(err)
	}
	defer server.Close()
	s = server.Session()
	f.note("%s", r.agreed(s, training))
	f.note("serving at %s; all that comes is kept in %s: the same command goes on where it was. Clients: dpreg pvi join --server https://HOST:PORT --cert FILE --key FILE --ca FILE --agree %s DATA.csv", server.Address(), dir, s.Digest())
	if r.n, err = server.Gather(f.ctx()); err != nil {
		return err
	}
	clients, err := server.Clients()
	if err != nil {
		return err
	}
	law, err := r.partitioned(s, training, clients)
	if err != nil {
		return err
	}
	if err := r.conclude(); err != nil {
		return err
	}
	server.Finish(f.ctx(), network.End{Global: law, Rows: r.n})
	return nil
}

// checkIdentity asks for the three files.
func (f *flags) checkIdentity() error {
	for _, of := range [][2]string{{"cert", f.identity.Cert}, {"key", f.identity.Key}, {"ca", f.identity.CA}} {
		if name, path := of[0], of[1]; path == "" {
			return usagef("--%s is missing: both sides show certificates, --cert and --key, and trust an authority, --ca; dpreg pvi serve --help tells how to make them", name)
		}
	}
	return nil
}

// agreed says what a session is, and what it takes of a client.
func (r *viFit) agreed(s *pvi.Session, training accounting.Training) string {
	var b strings.Builder
	fmt.Fprintf(&b, "session %s\n  %s (%s), of %s\n", s.Digest(), r.design.Model(), r.design.Statement(), strings.Join(s.Clients, ", "))
	fmt.Fprintf(&b, "  Each client spends %s on its rows: in each of %d rounds %d sums over batches of a share %v of them,\n", custody.Describe(s.Privacy), s.Rounds, s.Steps, s.Rate)
	fmt.Fprintf(&b, "  of gradients clipped to a norm of %.4g, with noise of %.4g times that. How many rows it has is told.\n  Columns, within public bounds:", s.Clip, training.Multiplier)
	for _, c := range s.Schema.Columns() {
		if c.Factor == "" && c.Term == nil {
			fmt.Fprintf(&b, " %s=%v:%v", c.Name, c.Lower, c.Upper)
		}
	}
	for _, c := range s.Schema.Sources {
		fmt.Fprintf(&b, " %s=%v:%v", c.Name, c.Lower, c.Upper)
	}
	for _, factor := range s.Schema.Factors {
		fmt.Fprintf(&b, " %s=%s", factor.Name, strings.Join(factor.Levels, ","))
	}
	return b.String()
}

// joinPVI is a client: its rows stay here.
func joinPVI(f *flags, args []string) (err error) {
	if f.server == "" {
		return usagef("--server is missing: the address of dpreg pvi serve, https://HOST:PORT")
	}
	if err := f.checkIdentity(); err != nil {
		return err
	}
	conn, err := network.Dial(f.server, f.identity, f.say)
	if err != nil {
		return usage(err)
	}
	s, err := conn.Session(f.ctx())
	if err != nil {
		return err
	}
	r := &viFit{dataset: &dataset{flags: f}}
	training, err := r.take(s)
	if err != nil {
		return err
	}
	if f.agree == "" {
		if _, err := fmt.Fprintln(f.stdout(), r.agreed(s, training)); err != nil {
			return err
		}
		return refusef("nothing was read or spent: to take part, add --agree %s", s.Digest())
	}
	if f.agree != s.Digest() {
		return refusef("the server has another session than the one agreed to: %s. Leave out --agree to see it", s.Digest())
	}
	f.note("%s", r.agreed(s, training))
	data, err := r.locate(args, "")
	if err != nil {
		return err
	}
	paid, err := r.payment(data)
	if err != nil {
		return err
	}
	defer func() { paid.Finish(f.ctx(), err == nil) }()
	client, rows, err := r.client(s, training, data, paid)
	if err != nil {
		return err
	}
	bar := countingBar(f.stderr(), "rounds ")
	end, err := conn.Join(f.ctx(), s, rows, client, func(round int) { bar.update(round-1, s.Rounds) })
	bar.finish()
	if err != nil {
		return err
	}
	r.n = end.Rows
	r.fitted(end.Global, training, s)
	return r.conclude()
}

// take makes a session's terms those of the flags.
func (r *viFit) take(s *pvi.Session) (t accounting.Training, err error) {
	r.model, r.priorSD = s.Model, s.PriorSD
	r.epsilon, r.delta = fmt.Sprint(s.Privacy.Epsilon), fmt.Sprint(s.Privacy.Delta)
	if _, err = r.pviPrivacy(); err != nil {
		return t, within("the server's session", err)
	}
	if r.design, err = s.Design(); err != nil {
		return t, usage(err)
	}
	t, err = s.Training()
	return t, usage(err)
}

// payingClient is a client that charges its ledger for the whole session before its first noise.
type payingClient struct {
	*pvi.Local
	paid    *custody.Payment
	marks   *table.Marks
	charged bool
}

// Update implements pvi.Client.
func (c *payingClient) Update(ctx context.Context, t pvi.Task) ([]float64, error) {
	if !c.charged {
		if err := c.paid.Pay(ctx, c.marks); err != nil {
			return nil, err
		}
		c.charged = true
	}
	return c.Local.Update(ctx, t)
}

// client is the client of the rows of data. Errors: those of the rows, no room in the ledger.
func (r *viFit) client(s *pvi.Session, training accounting.Training, data string, paid *custody.Payment) (c *network.Journal, rows int64, err error) {
	beside := besides(data, ".pvi-"+s.Digest()[:12])
	if r.session == "" && beside == "" {
		return nil, 0, usagef("beside %s there is no place for what is sent: name a directory, by --session DIR", data)
	}
	dir, err := filepath.Abs(cmp.Or(r.session, beside))
	if err != nil {
		return nil, 0, err
	}
	local, rows, err := r.local(s, training, data, paid)
	if err != nil {
		return nil, 0, err
	}
	if s, err = network.Open(dir, *s); err != nil {
		return nil, 0, usage(err)
	}
	if c, err = network.Record(local, dir, s.Rounds, local.Memory()); err != nil {
		return nil, 0, usage(err)
	}
	c.Before = paid.Answer
	if local.charged = c.Kept() > 0; local.charged && paid != nil {
		if local.charged, err = paid.Stands(r.ctx(), dir, c.Kept(), local.marks); err != nil {
			return nil, 0, err
		}
	}
	if local.charged {
		r.note("goes on after round %d, for which nothing more is charged; what was sent is in %s", c.Kept(), files.Quoted(dir))
		return c, rows, nil
	}
	r.note("what is sent is kept in %s: as long as it is there, the same command goes on without another charge", files.Quoted(dir))
	return c, rows, r.orderRun(paid, dir, training)
}

func (r *viFit) local(s *pvi.Session, training accounting.Training, data string, paid *custody.Payment) (c *payingClient, n int64, err error) {
	if err := r.checkOutputs(data); err != nil {
		return nil, 0, err
	}
	cells, err := r.cells(true)
	if err != nil {
		return nil, 0, err
	}
	if r.source, err = r.find(data); err != nil {
		return nil, 0, err
	}
	r.source.Marks = paid.Marks()
	rows, _, err := r.read(cells)
	if err != nil {
		return nil, 0, err
	}
	client, err := s.Local(rows, training.Multiplier, mechanisms.NewStream(mechanisms.OS()))
	return &payingClient{Local: client, paid: paid, marks: r.source.Marks}, int64(len(rows.Y)), usage(within(data, err))
}
