package network

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testca"
	"github.com/dpreg/dpreg/mechanisms"
	"github.com/dpreg/dpreg/release"
	"github.com/dpreg/dpreg/schema"
	"github.com/dpreg/dpreg/vi"
	"github.com/dpreg/dpreg/vi/pvi"
)

// scene is a session and what its sides need.
type scene struct {
	t       *testing.T
	session *pvi.Session
	ca      *testca.Authority
	dir     string
	says    *lines
}

// lines are what was said, by all sides.
type lines struct {
	sync.Mutex
	all []string
}

func (l *lines) say(text string) {
	l.Lock()
	defer l.Unlock()
	l.all = append(l.all, text)
}

func newScene(t *testing.T, clients, rounds int, change func(*pvi.Session)) *scene {
	t.Helper()
	column := func(name string) schema.Column { return schema.Column{Name: name, Lower: -1, Upper: 1} }
	s := pvi.Session{
		Model: vi.LinearKind, Schema: schema.Design{Response: column("y"), Covariates: []schema.Column{column("a"), column("b")}, Intercept: true},
		ErrorSD: 0.5, PriorSD: 2.5, Privacy: release.Privacy{Epsilon: 5, Delta: 1e-5, Neighbours: release.ReplaceOne},
		Rounds: rounds, Steps: 3, Rate: 1, Clip: 3, LearningRate: 0.2, Damping: 0.25,
	}
	for m := range clients {
		s.Clients = append(s.Clients, fmt.Sprintf("client %d", m+1))
	}
	if change != nil {
		change(&s)
	}
	dir := t.TempDir()
	return &scene{t, must.Get(Open(filepath.Join(dir, "server"), s))(t), testca.New(t, dir), dir, new(lines)}
}

// local is client m, with the same rows and noise each time.
func (s *scene) local(m int) (*pvi.Local, int64) {
	s.t.Helper()
	rng := rand.New(rand.NewPCG(uint64(m), 1))
	rows := &vi.Rows{P: 3}
	for range 20 + m {
		a, b := 2*rng.Float64()-1, 2*rng.Float64()-1
		y := 0.3*a - 0.2*b + 0.3*rng.NormFloat64()
		if s.session.Model == vi.LogisticKind {
			y = float64(rng.IntN(2))
		}
		rows.X, rows.Y = append(rows.X, 1, a, b), append(rows.Y, y)
	}
	noise := mechanisms.Simulated(rand.New(rand.NewPCG(uint64(m), 2)))
	c, err := s.session.Local(rows, must.Get(s.session.Training())(s.t).Multiplier, mechanisms.NewStream(noise))
	if err != nil {
		s.t.Fatal(err)
	}
	return c, int64(len(rows.Y))
}

// drive is what a run does with clients: one after the other, or all at once. After updates stop, if it is
// above 0, it gives up.
func (s *scene) drive(ctx context.Context, clients []pvi.Client, atOnce bool, stop int) (*pvi.Server, error) {
	server := must.Get(s.session.Server(clients))(s.t)
	for i := range s.session.Rounds * len(clients) {
		var err error
		switch {
		case stop > 0 && i >= stop:
			return server, context.Canceled
		case !atOnce:
			_, err = server.Ask(ctx, i%len(clients))
		case i%len(clients) == 0:
			_, err = server.Ask(ctx)
		}
		if err != nil {
			return server, err
		}
	}
	return server, nil
}

// simulation is the run on one machine.
func (s *scene) simulation(atOnce bool) []float64 {
	s.t.Helper()
	var clients []pvi.Client
	for m := range s.session.Clients {
		c, _ := s.local(m)
		clients = append(clients, c)
	}
	server, err := s.drive(s.t.Context(), clients, atOnce, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	if slices.Equal(server.Global(), must.Get(s.session.Family())(s.t).Isotropic(s.session.PriorSD)) || server.Rejections() > 0 {
		s.t.Fatal("the simulation goes nowhere: the test tests nothing")
	}
	return server.Global()
}

// listen serves.
func (s *scene) listen(address string, wait time.Duration) *Server {
	s.t.Helper()
	cert, key := s.ca.Server(s.t, "server")
	server, err := Listen(address, Identity{cert, key, s.ca.CA()}, filepath.Join(s.dir, "server"), *s.session, wait, s.says.say)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { server.Close() })
	return server
}

// run serves until the end, or until the driver gave up.
func (s *scene) run(ctx context.Context, server *Server, atOnce bool, stop int) (law []float64, err error) {
	rows, err := server.Gather(ctx)
	if err != nil {
		return nil, err
	}
	driver, err := s.drive(ctx, must.Get(server.Clients())(s.t), atOnce, stop)
	if err != nil {
		return nil, err
	}
	server.Finish(ctx, End{Global: driver.Global(), Rows: rows})
	return driver.Global(), nil
}

// dial is client m's side.
func (s *scene) dial(m int, address string) *Conn {
	s.t.Helper()
	cert, key := s.ca.Client(s.t, s.session.Clients[m])
	c, err := Dial("https://"+address, Identity{cert, key, s.ca.CA()}, s.says.say)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// join is client m, from its journal on.
func (s *scene) join(ctx context.Context, m int, address string, of func(pvi.Client) pvi.Client) (*End, error) {
	local, rows := s.local(m)
	var client pvi.Client = local
	if of != nil {
		client = of(client)
	}
	j, err := Record(client, filepath.Join(s.dir, s.session.Clients[m]), s.session.Rounds, local.Memory())
	if err != nil {
		return nil, err
	}
	return s.dial(m, address).Join(ctx, s.session, rows, j, func(int) {})
}

// joinAll are clients that must end well; ends waits for them.
func (s *scene) joinAll(address string, clients ...int) (ends func() []*End) {
	all, errs := make([]*End, len(clients)), make([]error, len(clients))
	var joined sync.WaitGroup
	for i, m := range clients {
		joined.Go(func() { all[i], errs[i] = s.join(s.t.Context(), m, address, nil) })
	}
	return func() []*End {
		s.t.Helper()
		joined.Wait()
		for i, err := range errs {
			if err != nil {
				s.t.Errorf("client %d: %v", clients[i]+1, err)
			}
		}
		return all
	}
}

func upTo(n int) (all []int) {
	for m := range n {
		all = append(all, m)
	}
	return all
}
