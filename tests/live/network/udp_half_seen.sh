#!/usr/bin/env bash
# Paths that are cut between two nodes only, and nodes that nobody hears: all survivors agree on who
# is dead, and go on. usage: udp_half_seen.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=udp.bash
. "$(dirname "$0")/udp.bash"

readonly UDP=(--fabric udp --timeout 60 --keep-going --peer-timeout 3000)

# half_seen NODES ONE OTHER: the path between the two is cut. The higher one is held for dead, by
# all nodes alike.
half_seen()
{
    local nodes=$1 one=$2 other=$3 rank left=
    udp_relay_start "$nodes" --cut-one "$one" --cut-other "$other" || return 1
    udp_job_start -n "$nodes" "${UDP[@]}" --port "$udp_port" --relay-port "$udp_relay_port" \
        "$live_programs/udp_half_seen"
    live_eventually eval "[ \$(udp_lines '^together') -eq $nodes ] || udp_job_ended"
    kill -USR1 "$udp_relay_process"
    udp_job_wait
    udp_relay_stop
    udp_has cut "$live_work/relay" || return 1
    for ((rank = 0; rank < nodes; rank++)); do
        [ "$rank" -eq "$other" ] || left+=" $rank"
    done
    [ "$status" -eq 0 ] && udp_say_lines "$nodes" '^survived' &&
        udp_say_lines $((nodes - 1)) "^left [0-9]*:$left\$" &&
        udp_say_lines 1 "^left $other: $other\$" || return 1
    grep -q "node $other is held for dead: 1 of its peers hears nothing of it" "$live_work/err" ||
        { echo "the launcher did not say so"; return 1; }
}
udp_verdict "two of three nodes no longer hear each other" half_seen 3 0 1
udp_verdict "two of five nodes no longer hear each other" half_seen 5 1 3
udp_verdict "two nodes no longer hear each other" half_seen 2 0 1

# The node that stands still is the one that all others do not hear. When it goes on it finds itself
# alone, however many nodes it does not hear.
stands_still()
{
    local pid
    udp_job_start -n 4 "${UDP[@]}" --label "$live_programs/udp_half_seen"
    live_eventually eval "[ \$(udp_lines 'together') -eq 4 ] || udp_job_ended"
    pid=$(pgrep -P "$udp_job" -x udp_half_seen | sed -n 2p)
    kill -STOP "$pid"
    live_eventually eval "[ \$(udp_lines 'survived') -eq 3 ] || udp_job_ended"
    kill -CONT "$pid"
    udp_job_wait
    [ "$status" -eq 0 ] && udp_say_lines 4 'survived' && udp_say_lines 1 'left [0-9]: [0-9]$' &&
        udp_say_lines 3 'left [0-9]: [0-9] [0-9] [0-9]$'
}
udp_verdict "a node that stands still is alone when it goes on" stands_still

# The launcher stands still when two nodes cease to hear each other: they decide by themselves. When
# it goes on it settles what they did not agree on.
no_launcher()
{
    udp_relay_start 3 --cut-one 0 --cut-other 1 || return 1
    udp_job_start -n 3 "${UDP[@]}" --port "$udp_port" --relay-port "$udp_relay_port" \
        "$live_programs/udp_half_seen"
    live_eventually eval "[ \$(udp_lines '^together') -eq 3 ] || udp_job_ended"
    kill -STOP "$udp_job"
    kill -USR1 "$udp_relay_process"
    sleep 8
    kill -CONT "$udp_job"
    udp_job_wait
    udp_relay_stop
    [ "$status" -eq 0 ] && udp_say_lines 3 '^survived'
}
udp_verdict "the same while the launcher stands still" no_launcher

udp_verdict "nothing remains" live_nothing_remains
live_finish
