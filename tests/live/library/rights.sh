#!/usr/bin/env bash
# Rights of peers in a node's areas. usage: rights.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

for nodes in 2 3; do
    live_checks rights "$nodes"
done
live_verdict "nothing remains" live_nothing_remains
live_finish
