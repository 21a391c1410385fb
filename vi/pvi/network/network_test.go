package network

import (
	"context"
	"flag"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testdir"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/vi"
	"github.com/dpreg/dpreg/vi/pvi"
)

// Tests wait for clients that do not answer, and more of them at once than there are cores.
func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "8")
	os.Exit(testdir.Run(m))
}

// same compares laws to the bit.
func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// With the same noise a run over a network ends in the law of the run on one machine, to the bit, and
// all clients learn it.
func TestNetworkIsTheSimulation(t *testing.T) {
	for name, c := range map[string]struct {
		atOnce bool
		change func(*pvi.Session)
	}{
		"linear":   {},
		"at once":  {atOnce: true},
		"logistic": {change: func(s *pvi.Session) { s.Model, s.ErrorSD = vi.LogisticKind, 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, 3, 6, c.change)
			want := s.simulation(c.atOnce)
			server := s.listen("127.0.0.1:0", time.Minute)
			ends := s.joinAll(server.Address(), 0, 1, 2)
			law, err := s.run(t.Context(), server, c.atOnce, 0)
			if err != nil || !same(law, want) {
				t.Errorf("%v, error %v; the simulation has %v", law, err, want)
			}
			for m, end := range ends() {
				if end == nil || !same(end.Global, want) || end.Rows != 63 {
					t.Errorf("client %d learns %+v", m+1, end)
				}
			}
		})
	}
}

// passed forwards connections to an address, and counts their bytes.
func passed(t *testing.T, address string) (by string, bytes *atomic.Int64) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	bytes = new(atomic.Int64)
	pass := func(to, from net.Conn) {
		defer to.Close()
		n, _ := io.Copy(to, from) // until either side ends
		bytes.Add(n)
	}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", address)
			if err != nil {
				in.Close()
				return
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
	return l.Addr().String(), bytes
}

func TestFiftyClients(t *testing.T) {
	t.Parallel()
	clients, rounds := testsize.Of(20, 50), testsize.Of(2, 10)
	s := newScene(t, clients, rounds, nil)
	server := s.listen("127.0.0.1:0", time.Minute)
	address, bytes := passed(t, server.Address())
	ends := s.joinAll(address, upTo(clients)...)
	began := time.Now()
	law, err := s.run(t.Context(), server, false, 0)
	took := time.Since(began)
	defer func() {
		server.Close()
		t.Logf("%d clients, %d rounds of %d numbers in %v, %d bytes an update", clients, rounds, len(law), took, bytes.Load()/int64(clients*rounds))
	}()
	if want := s.simulation(false); err != nil || !same(law, want) {
		t.Errorf("%v, error %v; the simulation has %v", law, err, want)
	}
	ends()
}

// A server that ends and is started again goes on, to the bit: clients wait for it.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	s := newScene(t, 3, 6, nil)
	want := s.simulation(false)
	server := s.listen("127.0.0.1:0", time.Minute)
	address := server.Address()
	ends := s.joinAll(address, 0, 1, 2)
	for _, stop := range []int{1, 5, 11} {
		if law, err := s.run(t.Context(), server, false, stop); err == nil {
			t.Fatalf("it did not stop after %d updates: %v", stop, law)
		}
		server.Close()
		server = s.listen(address, time.Minute)
	}
	law, err := s.run(t.Context(), server, false, 0)
	if err != nil || !same(law, want) {
		t.Errorf("%v, error %v; without restarts %v", law, err, want)
	}
	ends()
	if text := strings.Join(s.says.all, "\n"); !strings.Contains(text, "the server is lost") || !strings.Contains(text, "the server is back") {
		t.Errorf("clients did not say that the server was lost, and back:\n%s", text)
	}
	// Once more, when all is over: nobody is asked again.
	server.Close()
	again := must.Get(s.drive(t.Context(), must.Get(s.listen(address, time.Minute).Clients())(t), false, 0))(t)
	if !same(again.Global(), want) {
		t.Error("the journal has another result than the run had")
	}
}

// counted counts the updates that a client computes, and stops it before one.
type counted struct {
	pvi.Client
	updates *int
	stop    int
	cancel  func()
}

func (c counted) Update(ctx context.Context, t pvi.Task) ([]float64, error) {
	if *c.updates == c.stop {
		c.cancel()
		return nil, ctx.Err()
	}
	*c.updates++
	return c.Client.Update(ctx, t)
}

// A client that ends and is started again goes on: it computes each round once, and its factor and
// what its rule remembers are as they were.
func TestClientRestarts(t *testing.T) {
	testsize.Full(t, "TestServerRestarts goes on from journals, and TestHostileServer has no round computed twice")
	t.Parallel()
	s := newScene(t, 2, 6, nil)
	server := s.listen("127.0.0.1:0", time.Minute)
	ends := s.joinAll(server.Address(), 0)
	updates := 0
	ended := make(chan error, 1)
	go func() {
		for _, stop := range []int{0, 2, 4} {
			ctx, cancel := context.WithCancel(t.Context())
			s.join(ctx, 1, server.Address(), func(c pvi.Client) pvi.Client { return counted{c, &updates, stop, cancel} })
			cancel()
		}
		_, err := s.join(t.Context(), 1, server.Address(), func(c pvi.Client) pvi.Client { return counted{c, &updates, -1, nil} })
		ended <- err
	}()
	must.Get(s.run(t.Context(), server, false, 0))(t)
	ends()
	if err := <-ended; err != nil || updates != 6 {
		t.Errorf("%d updates of 6 rounds, error %v", updates, err)
	}
	// What it remembers grows from round to round, whoever computed them.
	last := make([]float64, 6)
	for round := 1; round <= 6; round++ {
		var e entry
		must.Do(t, read(filepath.Join(s.dir, "client 2", journalName(round)), &e))
		for j, v := range e.Memory {
			if v <= last[j] {
				t.Errorf("round %d: its rule remembers %v of coordinate %d, and %v before", round, v, j, last[j])
			}
		}
		last = e.Memory
	}
}

// slow computes too long in one round.
type slow struct {
	pvi.Client
	round int
	until chan struct{}
}

func (c slow) Update(ctx context.Context, t pvi.Task) ([]float64, error) {
	if t.Round == c.round {
		<-c.until
	}
	return c.Client.Update(ctx, t)
}

// A round passes without a client that is slow or lost, whose late answer counts for nothing; one that
// comes back takes part again.
func TestSlowAndLostClients(t *testing.T) {
	t.Parallel()
	s := newScene(t, 3, 4, nil)
	server := s.listen("127.0.0.1:0", 500*time.Millisecond)
	late := make(chan struct{})
	ends := s.joinAll(server.Address(), 0)
	over := make(chan error, 2)
	go func() {
		_, err := s.join(t.Context(), 1, server.Address(), func(c pvi.Client) pvi.Client { return slow{c, 2, late} })
		over <- err
	}()
	lost, lose := context.WithCancel(t.Context())
	go func() {
		updates := 0
		_, err := s.join(lost, 2, server.Address(), func(c pvi.Client) pvi.Client { return counted{c, &updates, 1, lose} })
		over <- err
	}()
	rows := must.Get(server.Gather(t.Context()))(t)
	clients := must.Get(server.Clients())(t)
	driver := must.Get(s.session.Server(clients))(t)
	for i := range 12 {
		if i == 9 { // in round 4 the slow one is there again
			close(late)
			for present := false; !present; time.Sleep(time.Millisecond) {
				server.mutex.Lock()
				present = !server.members[1].absent
				server.mutex.Unlock()
			}
		}
		must.Get(driver.Ask(t.Context(), i%3))(t)
	}
	server.Finish(t.Context(), End{driver.Global(), rows})
	ends()
	if a, b := <-over, <-over; a == nil == (b == nil) {
		t.Errorf("the slow client ended with %v or %v, and the lost one likewise", a, b)
	}
	answered := func(m int) (rounds []int) {
		for round := 1; round <= 4; round++ {
			var e entry
			must.Do(t, read(filepath.Join(s.dir, "server", "client-"+s.session.Clients[m], journalName(round)), &e))
			if len(e.Change) > 0 {
				rounds = append(rounds, round)
			}
		}
		return rounds
	}
	if a, b, c := answered(0), answered(1), answered(2); !slices.Equal(a, []int{1, 2, 3, 4}) || !slices.Equal(b, []int{1, 4}) || !slices.Equal(c, []int{1}) {
		t.Errorf("counted are rounds %v, %v and %v", a, b, c)
	}
	text := strings.Join(s.says.all, "\n")
	must.Say(t, text, "client 2 has not answered for 500ms: round 2", "client 3 has not answered", "client 2 is back", "not told the result, since they did not call: client 3")
	// The driver keeps factors: the law is the prior times them.
	sum := must.Get(s.session.Family())(t).Isotropic(s.session.PriorSD)
	for m := range clients {
		for j, v := range driver.Factor(m) {
			sum[j] += v
		}
	}
	for j, v := range driver.Global() {
		if math.Abs(v-sum[j]) > 1e-9*(1+math.Abs(v)) {
			t.Errorf("the law is %v, and the prior times the factors %v", driver.Global(), sum)
		}
	}
}

// Alone, a client that does not answer is waited for: it may be the server that is cut off.
func TestLostTogether(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2, 1, nil)
	server := s.listen("127.0.0.1:0", time.Millisecond)
	for _, m := range server.members {
		m.rows = 1
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if change, err := server.members[0].Update(ctx, pvi.Task{Round: 1}); err == nil {
		t.Errorf("a round passed with nobody there: %v", change)
	}
}

// Numbers cross to the bit.
func TestNumbersCross(t *testing.T) {
	want := []float64{0, math.Copysign(0, -1), 1. / 3, math.MaxFloat64, -math.SmallestNonzeroFloat64, 0x1p-1022, math.Nextafter(1, 2)}
	var got answer
	if err := (codec{}).Unmarshal(must.Get(codec{}.Marshal(answer{Change: want}))(t), &got); err != nil || !same(got.Change, want) {
		t.Errorf("%v became %v, error %v", want, got.Change, err)
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		if text, err := (codec{}).Marshal(answer{Change: []float64{v}}); err == nil {
			t.Errorf("%v crosses, as %s", v, text)
		}
	}
}
