package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/dpreg/dpreg/internal/must"
)

// The page is there under the address that is printed, until the command is interrupted.
func TestServe(t *testing.T) {
	workspace(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	in, out := io.Pipe()
	ended := make(chan int)
	var stderr bytes.Buffer
	go func() { ended <- run(ctx, out, &stderr, []string{"serve", "good.json"}) }()
	address := must.Get(bufio.NewReader(in).ReadString('\n'))(t)
	response := must.Get(http.Get(strings.TrimSpace(address)))(t)
	text, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || !strings.Contains(string(text), "good.json") {
		t.Errorf("the page is %s, %v", text, err)
	}
	interrupt()
	if code := <-ended; code != interrupted {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

func TestWrongServe(t *testing.T) {
	for _, w := range []wrong{
		{name: "nothing", args: "serve", code: misused, says: "needs a release"},
		{name: "rows", args: "serve pums.csv", code: misused, says: "pums.csv"},
		{name: "no such release", args: "serve god.json", code: misused, says: "god.json"},
		{name: "twice", args: "serve good.json good.json", code: misused, says: "same release"},
		{name: "a port", args: "serve good.json --port 70000", code: misused, says: "from 0 to 65535"},
	} {
		t.Run(w.name, w.run)
	}
}
