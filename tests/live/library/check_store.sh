#!/usr/bin/env bash
# In a build with -Dcheck=true, a store outside its kick ends the program with a sentence.
set -euo pipefail
program=$1/tests/live/check_store

"$program" inside
for what in outside astride misaligned wrapping; do
    status=0
    message=$( (ulimit -c 0; exec "$program" "$what") 2>&1) || status=$?
    echo "$what: $status: $message"
    # 134: SIGABRT
    [ "$status" -eq 134 ]
    [[ $message == *"dimmnet: a store of "* ]]
done
