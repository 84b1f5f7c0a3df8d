#!/usr/bin/env bash
# The impairment relay that the network tests send through. usage: relay.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

export LIVE_RELAY=$live_build/tests/tools/relay
live_checks relay alone
live_verdict "nothing remains" live_nothing_remains
live_finish
