#!/usr/bin/env bash
# Teams with 1 to 8 nodes, and teams whose members are killed. usage: team.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# survivors NODES DEAD ARGUMENT...: the others come to the end of the story.
survivors()
{
    local nodes=$1 dead=$2 count
    shift 2
    live_group -n "$nodes" --keep-going --timeout 60 "$live_programs/team" "$@"
    count=$(grep -c '^ok survivor' "$live_work/out")
    if [ "$count" -ne $((nodes - dead)) ] || grep -q '^FAIL' "$live_work/out"; then
        echo "$count survivors of $nodes"
        grep '^FAIL' "$live_work/out"
        return 1
    fi
}

for nodes in 1 2 3 8; do
    live_checks team "$nodes"
done
# The first of the list, which is the last rank, leads.
for ((round = 1; round <= ${DN_TEST_DEATHS:-3}; round++)); do
    DN_TEST_SEED=$((DN_TEST_SEED + round))
    live_verdict "a member dies, round $round" survivors 4 1 --storm 1
    live_verdict "the leader dies, round $round" survivors 4 1 --storm 3
    live_verdict "two die at once, round $round" survivors 6 2 --storm 2 4
    live_verdict "the leader and another die, round $round" survivors 6 2 --storm 5 0
    live_verdict "all but two die, round $round" survivors 6 4 --storm 1 2 4 5
done
live_verdict "one dies while the others shrink" survivors 4 2 --late
live_verdict "one is left" survivors 2 1 --storm 1
live_verdict "nothing remains" live_nothing_remains
live_finish
