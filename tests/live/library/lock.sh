#!/usr/bin/env bash
# Locks with 1 to 8 nodes, and nodes killed with the lock or waiting for it.
# usage: lock.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# survivors NODES DEAD STORY: all but DEAD nodes come to the end of the story.
survivors()
{
    local nodes=$1 dead=$2 story=$3 count
    live_group -n "$nodes" --keep-going --timeout 60 "$live_programs/lock" "$story"
    count=$(grep -c '^ok survivor' "$live_work/out")
    if [ "$count" -lt $((nodes - dead)) ] || grep -q '^FAIL' "$live_work/out"; then
        echo "$count survivors of $nodes"
        grep '^FAIL' "$live_work/out"
        return 1
    fi
}

# The longest time from a holder's death to the next holder, over several deaths.
inherit_within()
{
    local round longest=0 took
    for ((round = 0; round < 5; round++)); do
        survivors "$1" 1 --holder || return 1
        took=$(sed -n 's/^inherited after \([0-9]*\) us$/\1/p' "$live_work/out")
        [ "${took:-99999999}" -le "$longest" ] || longest=$took
    done
    echo "    $1 nodes: inherited after at most $longest us" >&3
    [ "$longest" -lt 5000000 ]
}

exec 3>&1
for nodes in 1 2 3 8; do
    live_checks lock "$nodes"
done
for nodes in 2 4; do
    live_verdict "a dead holder's lock is inherited, $nodes nodes" inherit_within "$nodes"
done
live_verdict "the queue closes over dead waiters" survivors 6 2 --waiter
for nodes in 3 5; do
    live_verdict "the node with the lock's word dies, $nodes nodes" survivors "$nodes" 1 --manager
done
for ((round = 1; round <= ${DN_TEST_DEATHS:-3}; round++)); do
    DN_TEST_SEED=$((DN_TEST_SEED + round))
    live_verdict "nodes die at any step, round $round" survivors 6 2 --storm
done
live_verdict "nothing remains" live_nothing_remains
live_finish
