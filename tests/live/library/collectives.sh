#!/usr/bin/env bash
# Prefixes, own operators, all-to-all and varying sizes with 1 to 8 nodes, and with members
# that are killed. usage: collectives.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# survivors NODES DEAD RANK...: the others come to the end of the story.
survivors()
{
    local nodes=$1 dead=$2 count
    shift 2
    live_group -n "$nodes" --keep-going --timeout 60 "$live_programs/collectives" --storm "$@"
    count=$(grep -c '^ok survivor' "$live_work/out")
    if [ "$count" -ne $((nodes - dead)) ] || grep '^FAIL' "$live_work/out"; then
        echo "$count survivors of $nodes"
        return 1
    fi
}

for nodes in 1 2 3 5 8; do
    live_checks collectives "$nodes"
done
for ((round = 1; round <= ${DN_TEST_DEATHS:-3}; round++)); do
    DN_TEST_SEED=$((DN_TEST_SEED + round))
    live_verdict "a member dies, round $round" survivors 4 1 1
    live_verdict "the first member dies, round $round" survivors 3 1 0
    live_verdict "two die, round $round" survivors 5 2 2 4
done
live_verdict "one is left" survivors 2 1 0
live_verdict "nothing remains" live_nothing_remains
live_finish
