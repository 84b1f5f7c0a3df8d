#!/usr/bin/env bash
# A hostile member of a group on `udp`. usage: udp_hostile.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

export DN_FABRIC=udp
live_checks udp_hostile 3
live_verdict "nothing remains" live_nothing_remains
live_finish
