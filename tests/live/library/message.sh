#!/usr/bin/env bash
# Messages between 2 to 12 nodes, and deaths among them. usage: message.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

for nodes in 2 3 8 12; do
    live_checks message "$nodes"
done
[ "${DN_RELAX-}" = 1 ] || DN_RELAX=1 live_checks message 3

# The flags of enum dn_context_flag, by number: one by one, and all.
flags=()
[ "${DN_FABRIC:-mem}" = mem ] || flags=(8 1 2 4 7)
for flag in "${flags[@]}"; do
    DN_TEST_CONTEXT_FLAGS=$flag live_checks message 3
done

status=0

# died WHO NODES SEED: the seed chooses the moment of the death; node 0 must say its words.
died()
{
    local line
    DN_TEST_SEED=$3 live_group -n "$2" --keep-going --timeout 60 "$live_programs/message_death" "$1"
    for line in "a $1 died" "the living go on"; do
        grep -qxF "ok $line" "$live_work/out" || { echo "seed $3: \"$line\" is missing"; return 1; }
    done
    ! grep '^FAIL' "$live_work/out"
}

for ((round = 0; round < ${DN_TEST_DEATHS:-10}; round++)); do
    for who in sender receiver; do
        nodes=$((2 + round % 3))
        live_verdict "a $who dies, $nodes nodes, round $round" \
            died "$who" "$nodes" $((DN_TEST_SEED + round))
    done
done

# leaves NODES: what node 0 sent before it left is received.
leaves()
{
    live_group -n "$1" --timeout 60 "$live_programs/message_leave"
    [ "$status" -eq 0 ] && grep -qx 'ok what a node sent before it left is received' "$live_work/out"
}
for nodes in 2 4; do
    live_verdict "a sender leaves, $nodes nodes" leaves "$nodes"
done

for flag in "${flags[@]}"; do
    export DN_TEST_CONTEXT_FLAGS=$flag
    for who in sender receiver; do
        live_verdict "a $who dies, flags $flag" died "$who" 3 $((DN_TEST_SEED + flag))
    done
    live_verdict "a sender leaves, flags $flag" leaves 3
    unset DN_TEST_CONTEXT_FLAGS
done

# Every node of the example except the broker says what it got.
news_arrive()
{
    live_group -n 4 --timeout 60 "$live_build/examples/publish"
    [ "$status" -eq 0 ] && [ "$(grep -c '^node [1-3] got 1000 news' "$live_work/out")" -eq 3 ]
}
live_verdict "the example publishes" news_arrive
live_verdict "nothing remains" live_nothing_remains
live_finish
