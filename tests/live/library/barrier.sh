#!/usr/bin/env bash
# Barriers and symmetric allocation with 1 to 66 nodes. usage: barrier.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# More than 64 nodes need a second word of every bit map.
for nodes in 1 2 3 5 8 16; do
    live_checks barrier "$nodes"
done
if [ "${DN_FABRIC:-mem}" = udp ]; then
    live_skip "barrier 66" "every arrival is 65 packets there: minutes on two cores"
else
    live_checks barrier 66
fi
live_verdict "nothing remains" live_nothing_remains
live_finish
