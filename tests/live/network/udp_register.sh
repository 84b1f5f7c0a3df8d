#!/usr/bin/env bash
# A node that moves much memory goes on answering. usage: udp_register.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=udp.bash
. "$(dirname "$0")/udp.bash"

# Moving this much takes seconds and twice the memory.
readonly GIB=4

large_memory()
{
    live_group -n 2 --fabric udp --timeout 100 "$live_programs/udp_register" "$GIB"
    [ "$status" -eq 0 ] && [ "$(grep -c '^ok [01]$' "$live_work/out")" -eq 2 ]
}

available_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
if [ "$available_kib" -lt $(((2 * GIB + 2) << 20)) ]; then
    live_skip "large memory" "it takes $((2 * GIB + 2)) GiB"
    live_passed=1
else
    live_verdict "peers get answers while $GIB GiB are registered and taken back" large_memory
fi
live_verdict "nothing remains" live_nothing_remains
live_finish
