package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/dpreg/dpreg/vi/pvi"
)

// Server is the side of a session that clients call.
type Server struct {
	session  *pvi.Session
	digest   string
	dir      string
	wait     time.Duration // for an answer, while others are there
	say      func(text string)
	size     int // of a change
	listener net.Listener
	http     *http.Server

	mutex   sync.Mutex    // of what follows, and of the members
	changed chan struct{} // closed, and made anew, when what somebody waits for has changed
	members []*member     // in the session's order
	end     *End          // nil before the rounds are over
}

// member is a client as the server has it.
type member struct {
	server *Server
	name   string
	rows   int64     // 0 before it called
	seen   time.Time // when it last called
	task   *pvi.Task // that is asked
	answer []float64 // to it; nil before there is one
	absent bool      // it let a round pass, and has not called since
	told   bool      // the end
}

// Listen opens a session at an address, with what its directory has of it: Open's. A round passes
// without a client that has not answered after wait, while others are there. Errors: files of the
// identity, an address that cannot be had, those of Open.
func Listen(address string, id Identity, dir string, s pvi.Session, wait time.Duration, say func(text string)) (*Server, error) {
	config, err := id.config()
	if err != nil {
		return nil, err
	}
	family, err := s.Family()
	if err != nil {
		return nil, err
	}
	server := &Server{dir: dir, wait: wait, say: say, size: family.Len(), changed: make(chan struct{})}
	if server.listener, err = net.Listen("tcp", address); err != nil {
		return nil, err
	}
	if err := server.recall(s); err != nil {
		server.listener.Close()
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(sessionPath, connect.NewUnaryHandler(sessionPath, server.get, options()))
	mux.Handle(updatePath, connect.NewUnaryHandler(updatePath, server.update, options()))
	server.http = &http.Server{
		Handler: named(mux), TLSConfig: config, ErrorLog: log.New(io.Discard, "", 0), MaxHeaderBytes: 1 << 16,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: patient, WriteTimeout: hold + patient,
	}
	go server.http.ServeTLS(server.listener, "", "") // ends when it is closed
	return server, nil
}

// recall has the session and its clients from the directory.
func (s *Server) recall(of pvi.Session) (err error) {
	if s.session, err = Open(s.dir, of); err != nil {
		return err
	}
	s.digest = s.session.Digest()
	for _, name := range s.session.Clients {
		m := &member{server: s, name: name}
		var k known
		if err := read(m.path(), &k); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		m.rows = k.Rows
		s.members = append(s.members, m)
	}
	return nil
}

// Session is what clients agree upon.
func (s *Server) Session() *pvi.Session { return s.session }

// Address is where the server is.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close ends all calls.
func (s *Server) Close() error { return s.http.Close() }

type nameKey struct{}

// named keeps the name of a caller's certificate.
func named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.TLS.PeerCertificates[0].Subject.CommonName // RequireAndVerifyClientCert saw to it that there is one
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), nameKey{}, name)))
	})
}

func (s *Server) caller(ctx context.Context) (*member, error) {
	name, _ := ctx.Value(nameKey{}).(string)
	for _, m := range s.members {
		if m.name == name {
			return m, nil
		}
	}
	return nil, connect.NewError(connect.CodePermissionDenied, fmt.Errorf("a certificate of %q is of no client of this session", name))
}

func (s *Server) get(ctx context.Context, _ *connect.Request[empty]) (*connect.Response[pvi.Session], error) {
	if _, err := s.caller(ctx); err != nil {
		return nil, err
	}
	return connect.NewResponse(s.session), nil
}

// update takes an answer, and holds the client until there is a task after it, or the end, or it is
// to call again.
func (s *Server) update(ctx context.Context, r *connect.Request[answer]) (*connect.Response[reply], error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	m, err := s.caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.enter(r.Msg); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, hold)
	defer cancel()
	for ctx.Err() == nil {
		if next, err := m.take(r.Msg); next != nil || err != nil {
			return connect.NewResponse(next), err
		}
		s.await(ctx)
	}
	return connect.NewResponse(new(reply)), nil
}

// await lets go of the mutex until something has changed or the context is done.
func (s *Server) await(ctx context.Context) {
	changed := s.changed
	s.mutex.Unlock()
	select {
	case <-changed:
	case <-ctx.Done():
	}
	s.mutex.Lock()
}

func (s *Server) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Clients are to be driven, in the session's order. Their answers are kept. Errors: as of Record.
func (s *Server) Clients() (clients []pvi.Client, err error) {
	for _, m := range s.members {
		j, err := Record(m, m.dir(), s.session.Rounds, nil)
		if err != nil {
			return nil, err
		}
		clients = append(clients, j)
	}
	return clients, nil
}

// Gather waits until every client has called once, in this run of the program or before, and returns
// how many rows they have in all.
func (s *Server) Gather(ctx context.Context) (rows int64, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	said := ""
	for ctx.Err() == nil {
		rows = 0
		var missing []string
		for _, m := range s.members {
			if rows += m.rows; m.rows == 0 {
				missing = append(missing, m.name)
			}
		}
		if missing == nil {
			return rows, nil
		}
		if text := strings.Join(missing, ", "); text != said {
			said = text
			s.say("waiting for " + said)
		}
		s.await(ctx)
	}
	return 0, ctx.Err()
}

// Finish tells the clients the end, for as long as it waits for answers, or until the context is done.
// What it said arrives before it returns.
func (s *Server) Finish(ctx context.Context, end End) {
	s.tell(ctx, &end)
	sent, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	s.http.Shutdown(sent) // calls that take longer are closed with the server
}

func (s *Server) tell(ctx context.Context, end *End) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.end = end
	s.change()
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	for ctx.Err() == nil && s.untold() != nil {
		s.await(ctx)
	}
	if names := s.untold(); names != nil {
		s.say("not told the result, since they did not call: " + strings.Join(names, ", "))
	}
}

func (s *Server) untold() (names []string) {
	for _, m := range s.members {
		if !m.told {
			names = append(names, m.name)
		}
	}
	return names
}

// known is what is kept of a client.
type known struct {
	Rows int64 `json:"rows"`
}

func (m *member) dir() string { return filepath.Join(m.server.dir, "client-"+m.name) }

func (m *member) path() string { return m.dir() + ".json" }

// enter notes that the client is there, and refuses what no client of this session says.
func (m *member) enter(a *answer) error {
	s := m.server
	refuse := func(code connect.Code, format string, args ...any) error {
		return connect.NewError(code, fmt.Errorf(format, args...))
	}
	switch {
	case a.Session != s.digest:
		return refuse(connect.CodeFailedPrecondition, "the server has session %s, not %s", s.digest, a.Session)
	case a.Rows < 1 || a.Rows > maxRows:
		return refuse(connect.CodeInvalidArgument, "%d rows", a.Rows)
	case m.rows != 0 && m.rows != a.Rows:
		return refuse(connect.CodeInvalidArgument, "%s had %d rows before, and now has %d", m.name, m.rows, a.Rows)
	case a.Round < 0 || a.Round > s.session.Rounds:
		return refuse(connect.CodeInvalidArgument, "there is no round %d", a.Round)
	case a.Round == 0 && len(a.Change) != 0, a.Round > 0 && len(a.Change) != s.size:
		return refuse(connect.CodeInvalidArgument, "a change of %d numbers for round %d, and of %d from round 1 on", len(a.Change), a.Round, s.size)
	}
	if m.rows == 0 {
		if err := write(m.path(), known{a.Rows}); err != nil {
			return refuse(connect.CodeInternal, "the server cannot keep what it has")
		}
		m.rows = a.Rows
		s.say(fmt.Sprintf("%s is there, with %d rows", m.name, m.rows))
		s.change()
	}
	if m.absent {
		s.say(m.name + " is back")
	}
	m.seen, m.absent = time.Now(), false
	return nil
}

// maxRows is more than any client has.
const maxRows = 1e12

// take takes an answer, if it is to the open task and the first, and returns what is next for the
// client, nil where there is nothing yet.
func (m *member) take(a *answer) (*reply, error) {
	m.seen = time.Now()
	switch {
	case m.server.end != nil:
		m.told = true
		m.server.change()
		return &reply{End: m.server.end}, nil
	case m.task == nil || m.task.Round < a.Round:
		return nil, nil
	case m.task.Round > a.Round:
		return &reply{Task: m.task}, nil
	case m.answer == nil:
		m.answer = a.Change
		m.server.change()
	case !slices.Equal(m.answer, a.Change):
		return nil, connect.NewError(connect.CodeAlreadyExists, fmt.Errorf("round %d was answered otherwise before: the first answer stands", a.Round))
	}
	return nil, nil
}

// Update implements pvi.Client: it waits for the client's answer. Where another client is there and
// this one is not, or not for long enough, the round passes without it.
func (m *member) Update(ctx context.Context, t pvi.Task) ([]float64, error) {
	s := m.server
	s.mutex.Lock()
	defer s.mutex.Unlock()
	m.task, m.answer = &pvi.Task{Round: t.Round, Global: slices.Clone(t.Global), Factor: slices.Clone(t.Factor)}, nil
	s.change()
	asked := time.Now()
	for m.answer == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		late := time.Since(asked) >= s.wait
		if (late || m.absent) && s.others(m) {
			if late {
				s.say(fmt.Sprintf("%s has not answered for %v: round %d passes without it, and the next ones until it calls", m.name, s.wait, t.Round))
			}
			m.task, m.absent = nil, true
			return nil, nil
		}
		tick, cancel := context.WithTimeout(ctx, min(time.Second, s.wait))
		s.await(tick)
		cancel()
	}
	return m.answer, nil
}

// others tells whether a client but this one is there: if none is, the server may be what is cut off.
func (s *Server) others(but *member) bool {
	return slices.ContainsFunc(s.members, func(m *member) bool { return m != but && time.Since(m.seen) < 2*hold })
}
