#!/usr/bin/env bash
# The tests of order, waiting and barriers over and over, each round with a seed of its own
# (which a failure names), plainly and with DN_RELAX=1.
# usage: rounds.sh BUILD_FOLDER; DN_SOAK_MINUTES is how long (10).
set -u
live=$(dirname "$0")/../live
end=$((SECONDS + 60 * ${DN_SOAK_MINUTES:-10}))
rounds=0
while [ "$SECONDS" -lt "$end" ]; do
    for relax in 0 1; do
        for test in order wait barrier; do
            if ! DN_RELAX=$relax "$live/library/$test.sh" "$1" >"$1/soak.log" 2>&1; then
                cat "$1/soak.log"
                echo "round $rounds: $test failed with DN_RELAX=$relax"
                exit 1
            fi
        done
    done
    rounds=$((rounds + 1))
done
echo "$rounds rounds"
