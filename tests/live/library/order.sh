#!/usr/bin/env bash
# Order and completion of everything that is sent. usage: order.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

for nodes in 2 3 8; do
    live_checks order "$nodes"
    # The rules also hold when DN_RELAX does everything that they leave open the other way.
    [ "${DN_RELAX-}" = 1 ] || [[ ${DN_FABRIC-} == sim:* ]] || DN_RELAX=1 live_checks order "$nodes"
done
live_verdict "nothing remains" live_nothing_remains
live_finish
