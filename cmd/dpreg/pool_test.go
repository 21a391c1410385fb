package main

import (
	"bufio"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dpreg/dpreg/internal/must"
	"github.com/dpreg/dpreg/internal/testsize"
	"github.com/dpreg/dpreg/release"
)

// threeCustodians have the rows of a workspace in three files, keys, and a session.
func threeCustodians(t *testing.T, flags ...string) []string {
	t.Helper()
	workspace(t)
	lines := strings.SplitAfter(read(t, "pums.csv"), "\n")
	names := []string{"north", "south", "west"}
	agreed := []string{"pool", "agree", "--eps", "1", "--delta", "1e-6", "--schema", "pums.schema.json", "--formula", educ, "-o", "s.session"}
	for i, name := range names {
		write(t, name+".csv", lines[0]+strings.Join(lines[1+300*i:min(len(lines), 301+300*i+100*(i/2))], ""))
		command("pool", "key", name).finished(t).says(t, "yours alone")
		agreed = append(agreed, name+".member")
	}
	command(append(agreed, flags...)...).finished(t).says(t, "compare its digest")
	return names
}

// Three custodians make one release without showing their sums, and it is one like any other: of all their
// rows, with the noise that it states, signed by a ledger's charge of each.
func TestPool(t *testing.T) {
	names := threeCustodians(t, "--colluding", "1")
	for _, name := range names {
		command("pool", "share", "--session", "s.session", "--key", name+".member.key", name+".csv").finished(t).says(t, "charged to "+name+".ledger.db").says(t, "may collude")
		if all := charges(t, name+".ledger.db"); len(all) != 1 {
			t.Errorf("%d charges", len(all))
		}
	}
	for _, name := range names {
		command("pool", "mask", "--key", name+".member.key", "west.shares", "north.shares", "south.shares").finished(t).says(t, "the key is gone")
	}
	made := command("pool", "north.masked", "south.masked", "west.masked", "-o", "all.json").finished(t)
	must.Say(t, must.Folded(made.stdout), "n = 1000, public", "as the sum of 3 custodians", "also against any 1 of them")
	r := must.Get(release.ReadFile("all.json"))(t)
	if r.N != 1000 || r.Simulated || *r.Pooled != (release.Pooled{Custodians: 3, Colluding: 1}) {
		t.Errorf("%+v", r)
	}
	command("pool", "north.masked", "south.masked", "west.masked", "-o", "all.json").says(t, "exists")
	command(append([]string{"infer", "all.json"}, quick...)...).finished(t)
	stated := command("show", "all.json", "--statement").finished(t)
	must.Say(t, stated.stdout, "any 1 of them")
	// The file claims no more than the shares that nobody knows are worth.
	write(t, "less.json", strings.Replace(read(t, "all.json"), `"colluding": 1`, `"colluding": 2`, 1))
	command("show", "less.json").says(t, "know their shares").ends(t, misused)
}

func TestPoolWrong(t *testing.T) {
	threeCustodians(t, "--colluding", "2")
	share := []string{"pool", "share", "--session", "s.session", "--key", "north.member.key"}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"pool"}, "needs a file"},
		{[]string{"pool", "key"}, "needs a custodian's name"},
		{[]string{"pool", "key", "north"}, "never overwritten"},
		{[]string{"pool", "agree", "north.member", "south.member", "--eps", "1", "--delta", "1e-6", "--schema", "pums.schema.json"}, "--colluding is missing"},
		{[]string{"pool", "agree", "north.member", "south.member", "--eps", "1", "--delta", "1e-6", "--schema", "pums.schema.json", "--colluding", "2"}, "must be above 5 times"},
		{[]string{"pool", "agree", "north.member", "south.member", "--eps", "1", "--schema", "pums.schema.json", "--colluding", "1"}, "--delta is missing"},
		{[]string{"pool", "agree", "north.member", "north.member", "--eps", "1", "--delta", "1e-6", "--schema", "pums.schema.json", "--colluding", "1"}, "two custodians"},
		{[]string{"pool", "agree", "north.member.key", "south.member", "--eps", "1", "--delta", "1e-6", "--schema", "pums.schema.json", "--colluding", "1"}, `"dpreg-member/1" is wanted`},
		{[]string{"pool", "agree", "north.member", "south.member", "--eps", "1", "--delta", "1e-6", "--colluding", "1"}, "there are no columns"},
		{[]string{"pool", "share", "north.csv", "--session", "s.session"}, "--key is missing"},
		{[]string{"pool", "share", "north.csv", "--key", "north.member.key"}, "--session"},
		{append(slices.Clip(share), "north.csv", "--missing", "drop"), "leaving rows out"},
		{append(slices.Clip(share), "none.csv"), "none.csv"},
		{append(slices.Clip(share), "s.session"), "s.session"},
		{[]string{"pool", "mask", "--key", "north.member.key", "pums.csv"}, "is wanted here"},
		{[]string{"pool", "mask", "--key", "north.member", "x.shares"}, `"dpreg-member-key/1" is wanted`},
		{[]string{"pool", "s.session"}, `"dpreg-masked/1" is wanted`},
	} {
		before := tree(t)
		r := command(c.args...).says(t, c.says)
		if r.code != misused && r.code != refused {
			t.Errorf("%q: exit code %d", c.args, r.code)
		}
		unchanged(t, before)
	}
	if runtime.GOOS == "windows" {
		return
	}
	must.Do(t, os.Chmod("north.member.key", 0o644))
	command(append(share, "north.csv")...).says(t, "chmod 600 north.member.key").ends(t, misused)
}

// Runs that are killed at random leave no shares that were not charged for, and never both the sum of a
// custodian and the key that could make another.
func TestPoolKilled(t *testing.T) {
	testsize.Full(t, "TestKilledReleases kills, and TestPool pools")
	names := threeCustodians(t, "--colluding", "1")
	program := must.Get(os.Executable())(t)
	rng := rand.New(rand.NewPCG(4, 4))
	kill := func(args string) {
		t.Helper()
		c := exec.Command(program, "-test.run=^TestProcess$")
		c.Env = append(os.Environ(), "DPREG_TEST_ARGS="+args)
		out := must.Get(c.StdoutPipe())(t)
		must.Do(t, c.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); line != started+"\n" {
			t.Fatalf("%q, %v", line, err)
		}
		time.Sleep(time.Duration(rng.IntN(40)) * time.Millisecond)
		c.Process.Kill()
		c.Wait() // its error is that it was killed
	}
	there := func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
	for range testsize.Of(3, 15) {
		kill("pool share --session s.session --key north.member.key north.csv")
		if there("north.shares") && (!there("north.ledger.db") || len(charges(t, "north.ledger.db")) == 0) {
			t.Fatal("there are shares that nobody paid for")
		}
		os.Remove("north.shares")
	}
	for _, name := range names {
		command("pool", "share", "--session", "s.session", "--key", name+".member.key", name+".csv").finished(t)
	}
	key := read(t, "north.member.key")
	for range testsize.Of(5, 25) {
		write(t, "north.member.key", key)
		os.Remove("north.masked")
		kill("pool mask --key north.member.key north.shares south.shares west.shares")
		if there("north.masked") && there("north.member.key") {
			t.Fatal("there is a sum, and the key for another")
		}
	}
}

// Two looks of custodians who bound their own persons, signed: each look has a session, which is of the one
// before it.
func TestPoolLooks(t *testing.T) {
	testsize.Full(t, "TestPool has the commands, and TestPoolTotals of package custody the totals")
	names := threeCustodians(t, "--colluding", "1", "--person-rows", "1", "--steps", "2", "--rows", "1000")
	look := func(session, to string, more ...string) {
		t.Helper()
		for _, name := range names {
			command("pool", "share", "--session", session, "--key", name+".member.key", "--person", "id", name+".csv").finished(t).says(t, "for each person")
		}
		for _, name := range names {
			command("pool", "mask", "--key", name+".member.key", "west.shares", "north.shares", "south.shares").finished(t)
		}
		command(append([]string{"pool", "north.masked", "south.masked", "west.masked", "-o", to}, more...)...).finished(t)
		for _, name := range names {
			for _, suffix := range []string{".shares", ".masked", ".member"} {
				must.Do(t, os.Remove(name+suffix))
			}
		}
	}
	for i, name := range names { // of three rows each
		lines := strings.Split(strings.TrimSpace(read(t, name+".csv")), "\n")
		for k := range lines {
			id := "id"
			if k > 0 {
				id = strings.Repeat("p", 1+i) + strconv.Itoa(k/3)
			}
			lines[k] = id + "," + lines[k]
		}
		write(t, name+".csv", strings.Join(lines, "\n")+"\n")
	}
	look("s.session", "first.json")
	agreed := []string{"pool", "agree", "--colluding", "1", "--former", "first.json", "-o", "second.session"}
	for _, name := range names {
		command("pool", "key", name).finished(t)
		agreed = append(agreed, name+".member")
	}
	command(append(agreed, "--eps", "2")...).says(t, "is agreed upon for all looks").ends(t, misused)
	command(agreed...).finished(t).says(t, "look 2 of 2")
	command("keys", "k").finished(t)
	look("second.session", "second.json", "--sign", "k.key")
	r := must.Get(release.ReadFile("second.json"))(t)
	if len(r.Looks()) != 2 || r.Persons == nil || r.N > 340 {
		t.Errorf("%d looks, %+v, n = %d", len(r.Looks()), r.Persons, r.N)
	}
	if all := charges(t, "north.ledger.db"); len(all) != 2 {
		t.Errorf("%d charges", len(all))
	}
	command("show", "second.json", "--statement", "--verify", "k.pub").finished(t)
	command(append([]string{"infer", "second.json", "--verify", "k.pub"}, quick...)...).finished(t)
}
