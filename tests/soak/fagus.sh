#!/usr/bin/env bash
# Random work, litmus shapes and deaths on shared memory over and over, each round with seeds of
# its own (which a failure names), plainly and with DN_RELAX=1.
# usage: fagus.sh BUILD_FOLDER; DN_SOAK_MINUTES is how long (120).
set -u
live=$(dirname "$0")/../live
end=$((SECONDS + 60 * ${DN_SOAK_MINUTES:-120}))
rounds=0
unset DN_TEST_SEED DN_RELAX DN_FABRIC
export DN_TEST_RANDOM=4 DN_TEST_ROUNDS=2 DN_TEST_DEATHS=20
while [ "$SECONDS" -lt "$end" ]; do
    for test in fagus_random fagus_kill fagus_litmus; do
        if ! "$live/fagus/$test.sh" "$1" >"$1/soak.log" 2>&1; then
            grep -A12 '^FAIL' "$1/soak.log" | head -n 60
            echo "round $rounds: $test failed"
            exit 1
        fi
    done
    if ! DN_RELAX=1 "$live/fagus/fagus_random.sh" "$1" >"$1/soak.log" 2>&1; then
        grep -A12 '^FAIL' "$1/soak.log" | head -n 60
        echo "round $rounds: fagus_random failed with DN_RELAX=1"
        exit 1
    fi
    rounds=$((rounds + 1))
done
echo "$rounds rounds"
