#!/usr/bin/env bash
# Reductions, broadcast and gathering with 1 to 8 nodes. usage: reduce.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

digest() { sed -n 's/^digest //p' "$live_work/out"; }

# A second run gives the same floating-point bits as the first.
same_bits_again()
{
    local first
    live_group -n "$1" --timeout 60 "$live_programs/reduce" floating_point_is_the_same_everywhere
    first=$(digest)
    live_group -n "$1" --timeout 60 "$live_programs/reduce" floating_point_is_the_same_everywhere
    [ -n "$first" ] && [ "$first" = "$(digest)" ]
}

for nodes in 1 2 3 5 8; do
    live_checks reduce "$nodes"
    live_verdict "reduce $nodes: the same bits in two runs" same_bits_again "$nodes"
done
live_verdict "nothing remains" live_nothing_remains
live_finish
