package main

import (
	"strings"
	"testing"
)

// To add-remove neighbours a table without rows, or without any that stays, is released as
// one with a row is, with the same words; for replace-one ones, who know the number, it is an error.
func TestNoRows(t *testing.T) {
	for name, text := range map[string]string{"none": "x,y\n", "none that stays": "x,y\n,1\nNA,0\n"} {
		for _, flags := range []string{
			"--eps 1 --bounds x=0:1,y=0:1",
			"--eps 1 --delta 1e-6 --mechanism gaussian --bounds x=0:1,y=0:1",
			"--eps 1 --bounds x=0:1,y=0:1 --with-moments",
			"--eps 4 --bounds auto --rows 5000",
		} {
			t.Run(name+" "+flags, func(t *testing.T) {
				workspace(t)
				write(t, "e.csv", text)
				args := append([]string{"release", "e.csv", "--neighbours", "add-remove", "--missing", "drop"}, strings.Fields(flags)...)
				command(args...).ends(t, done)
			})
		}
	}
	workspace(t)
	write(t, "e.csv", "x,y\n")
	r := command("release", "e.csv", "--eps", "1", "--bounds", "x=0:1,y=0:1").ends(t, misused)
	r.says(t, "no rows")
}
