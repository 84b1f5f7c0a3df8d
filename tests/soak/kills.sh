#!/usr/bin/env bash
# Thousands of random kills, as they are and with everything delayed and reordered.
# usage: kills.sh BUILD_FOLDER
set -uo pipefail
faults=$(dirname "$0")/../live/faults.sh

export DN_TEST_KILLS=${DN_TEST_KILLS:-3000}
"$faults" "$1" && DN_RELAX=1 "$faults" "$1"
