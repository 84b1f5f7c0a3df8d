#!/usr/bin/env bash
# Threads that are cancelled in calls of the library. usage: cancel.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

for nodes in alone 2 4; do
    live_checks cancel "$nodes"
done
live_verdict "nothing remains" live_nothing_remains
live_finish
