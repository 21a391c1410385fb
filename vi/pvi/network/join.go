package network

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"connectrpc.com/connect"

	"github.com/dpreg/dpreg/vi/pvi"
)

// Conn is the side of a session that calls.
type Conn struct {
	session *connect.Client[empty, pvi.Session]
	update  *connect.Client[answer, reply]
	say     func(text string)
}

// Dial prepares calls of the server at https://HOST:PORT. Errors: another kind of address, files of
// the identity.
func Dial(address string, id Identity, say func(text string)) (*Conn, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("%q is no address of a server: https://HOST:PORT is wanted", address)
	}
	config, err := id.config()
	if err != nil {
		return nil, err
	}
	caller := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second}}
	base := "https://" + u.Host
	return &Conn{
		connect.NewClient[empty, pvi.Session](caller, base+sessionPath, options()),
		connect.NewClient[answer, reply](caller, base+updatePath, options()), say,
	}, nil
}

// Session asks for the session. Errors: no server, one that refuses, a session that cannot be.
func (c *Conn) Session(ctx context.Context) (*pvi.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	r, err := c.session.CallUnary(ctx, connect.NewRequest(new(empty)))
	if err != nil {
		return nil, plain(err)
	}
	if err := r.Msg.Check(); err != nil {
		return nil, fmt.Errorf("the server's session cannot be: %w", err)
	}
	return r.Msg, nil
}

// Join answers by a client, which has so many rows, until the rounds are over. progress is told of
// each round before it. Errors: the client's refusals, the server's; a context that is done. Where
// the server is lost it calls until it is back.
func (c *Conn) Join(ctx context.Context, s *pvi.Session, rows int64, client pvi.Client, progress func(round int)) (*End, error) {
	said := &answer{Session: s.Digest(), Rows: rows}
	for {
		r, err := c.call(ctx, said)
		switch {
		case err != nil:
			return nil, err
		case r.End != nil:
			return r.End, checkEnd(s, r.End)
		case r.Task == nil:
			continue
		}
		progress(r.Task.Round)
		change, err := client.Update(ctx, *r.Task)
		if err != nil {
			return nil, err
		}
		said.Round, said.Change = r.Task.Round, change
	}
}

// checkEnd refuses an end that is none of the session.
func checkEnd(s *pvi.Session, e *End) error {
	f, err := s.Family()
	if err == nil && (len(e.Global) != f.Len() || !f.Proper(e.Global) || e.Rows < 1 || e.Rows > int64(len(s.Clients))*maxRows) {
		err = errors.New("the server's result is no law of this session")
	}
	return err
}

// call calls until it is heard.
func (c *Conn) call(ctx context.Context, said *answer) (*reply, error) {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, hold) {
		r, err := c.once(ctx, said)
		lost := pause > 100*time.Millisecond
		switch {
		case err == nil:
			if lost {
				c.say("the server is back")
			}
			return r, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !passing(err):
			return nil, plain(err)
		case !lost:
			c.say(fmt.Sprintf("the server is lost, and is called until it is back (%v)", plain(err)))
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

func (c *Conn) once(ctx context.Context, said *answer) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, hold+patient)
	defer cancel()
	r, err := c.update.CallUnary(ctx, connect.NewRequest(said))
	if err != nil {
		return nil, err
	}
	return r.Msg, nil
}

// passing tells whether an error is of a connection or of a server that ends, not of what was said.
func passing(err error) bool {
	all := []connect.Code{connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled, connect.CodeUnknown, connect.CodeInternal, connect.CodeAborted}
	return slices.Contains(all, connect.CodeOf(err))
}

// plain is an error without connect's code, and without what could move a terminal's cursor.
func plain(err error) error {
	var e *connect.Error
	if !errors.As(err, &e) {
		return err
	}
	return fmt.Errorf("the server: %s", strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, e.Message()))
}
