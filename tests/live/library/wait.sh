#!/usr/bin/env bash
# Waiting, sleeping and being woken, in nodes and threads. usage: wait.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

for nodes in 1 2 8; do
    live_checks wait "$nodes"
done
live_verdict "nothing remains" live_nothing_remains
live_finish
