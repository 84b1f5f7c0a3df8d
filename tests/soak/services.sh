#!/usr/bin/env bash
# Deaths at random moments of locks, teams and messages: the same tests as in `make test`,
# for longer. usage: services.sh BUILD_FOLDER; DN_SOAK_DEATHS is how many rounds of each (300).
set -u
live=$(dirname "$0")/../live
for test in lock team message; do
    if ! DN_TEST_DEATHS=${DN_SOAK_DEATHS:-300} "$live/library/$test.sh" "$1" >"$1/soak.log" 2>&1; then
        grep -A8 '^FAIL' "$1/soak.log" | head -n 40
        echo "$test failed; its seeds are above"
        exit 1
    fi
    tail -n 1 "$1/soak.log"
done
