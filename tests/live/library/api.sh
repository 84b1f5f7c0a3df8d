#!/usr/bin/env bash
# Every call of dimmnet.h: right results and refused mistakes. usage: api.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

live_checks alone alone
for nodes in alone 1 2 4 8; do
    live_checks api "$nodes"
    live_checks transfer "$nodes"
    live_checks memory "$nodes"
done
live_verdict "nothing remains" live_nothing_remains
live_finish
