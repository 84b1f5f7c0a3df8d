#!/usr/bin/env bash
# Teams that are given up, with and without deaths. usage: revoke.sh BUILD_FOLDER;
# DN_TEST_DEATHS is the number of rounds in which nodes die at random (3).
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# survivors NODES DEAD ARGUMENT...: the others come to the end of the story.
survivors()
{
    local nodes=$1 dead=$2 count
    shift 2
    live_group -n "$nodes" --keep-going --timeout 30 "$live_programs/revoke" "$@"
    count=$(grep -c '^ok survivor' "$live_work/out")
    if [ "$count" -ne $((nodes - dead)) ] || grep -q '^FAIL' "$live_work/out"; then
        echo "$count survivors of $nodes"
        return 1
    fi
}

for nodes in 2 3 8; do
    live_checks revoke "$nodes"
done
live_verdict "the team of all is given up" survivors 4 0 --all

# Barriers in all kinds, then each other call.
while read -r kind call; do
    live_verdict "a death is heard elsewhere, barriers of kind $kind, call $call" \
        survivors 3 1 --death "$kind" "$call"
done <<'CALLS'
0 0
1 0
2 0
0 2
1 2
2 2
0 1
0 4
0 5
0 7
0 10
CALLS

live_verdict "all kinds of calls, nobody dies" survivors 4 0 --storm
for ((round = 1; round <= ${DN_TEST_DEATHS:-3}; round++)); do
    DN_TEST_SEED=$((DN_TEST_SEED + round))
    live_verdict "all kinds of calls, one dies, round $round" survivors 4 1 --storm 2
    live_verdict "all kinds of calls, two die, round $round" survivors 5 2 --storm 1 4
    live_verdict "all kinds of calls, three of six die, round $round" survivors 6 3 --storm 1 3 5
done
live_verdict "nothing remains" live_nothing_remains
live_finish
