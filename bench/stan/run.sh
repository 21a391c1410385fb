#!/usr/bin/env bash
# Compares a method of dpreg with Stan: effective draws a CPU second.
#
#   run.sh                           mcmc-ind and mcmc-exact, all their cases
#   run.sh METHOD PROGRAM [CASE...]  one method, against individuals or collapsed
#
# Markdown goes to stdout. All runs on one core, the one that CPU names (default 0).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
go build -o "$build/engines" ../engines

export GOMAXPROCS=1 R_MAKEVARS_USER=$PWD/Makevars

compare() {
	taskset -c "${CPU:-0}" Rscript compare.R "$build/engines" "$@"
}

if [ $# -gt 0 ]; then
	compare "$@"
else
	compare mcmc-ind individuals
	compare mcmc-exact collapsed
fi
