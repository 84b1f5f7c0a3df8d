#!/usr/bin/env bash
# Strangers and replayers at the ports of nodes that are quiet: their memory stays as it is, and no
# packet is answered. DN_FLOOD_PACKETS says how many come (a soak takes 10000000); DN_FLOOD_SECONDS
# how long a stream is then measured beside a second flood as large, for the figure only.
# usage: udp_flood.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=udp.bash
. "$(dirname "$0")/udp.bash"

readonly NODES=3
readonly PACKETS=${DN_FLOOD_PACKETS:-60000}
readonly SECONDS_LONG=${DN_FLOOD_SECONDS:-0}
readonly LONGEST=$((60 + PACKETS / 20000 + SECONDS_LONG))

packets_sent()
{
    "$live_dimmnet" info --json "$udp_job" 2>"$live_work/info" |
        grep -oE '"packets_sent":[0-9]+' | tr '\n' ' '
}

all_are_quiet() { [ "$(udp_lines '^quiet')" -eq "$NODES" ] || udp_job_ended; }

flood()
{
    "$udp_tools/stranger" --to "$udp_port" --nodes "$NODES" --rate "${2:-10000000}" \
        --seconds "$LONGEST" --packets "$1" --seed "$DN_TEST_SEED" --garbage \
        --replay "$live_work/own" >"${3:-$live_work/stranger}" 2>&1
}

# The middle of the speeds told between two times.
middle_speed()
{
    awk -v from="$1" -v to="$2" '$1 == "speed" && $2 >= from && $2 < to { print $3 }' \
        "$live_work/out" | sort -n | awk '{ a[NR] = $1 } END { print NR ? a[int((NR + 1) / 2)] : 0 }'
}

now_ms() { echo $(($(udp_now_us) / 1000)); }

measure()
{
    local start end
    sleep $((SECONDS_LONG / 4))
    start=$(now_ms)
    flood 1000000000 100000 "$live_work/second_stranger" &
    udp_started+=("$!")
    sleep $((SECONDS_LONG / 2))
    kill -TERM "$!"
    end=$(now_ms)
    udp_job_wait
    echo "    bytes per second alone $(middle_speed 0 "$start"), flooded $(middle_speed "$start" "$end")," \
        "after it $(middle_speed "$end" 99999999999999)" >&3
}

quiet_and_flooded()
{
    local before after kind
    udp_relay_start "$NODES" --record "$live_work/own" || return 1
    # Nobody asks whether the others are there while this lasts.
    udp_job_start -n "$NODES" --fabric udp --port "$udp_port" --relay-port "$udp_relay_port" \
        --timeout $((2 * LONGEST)) --peer-timeout 3600000 "$@" "$live_programs/udp_watched" \
        "$live_work/enough" "$SECONDS_LONG"
    live_eventually all_are_quiet
    # The last acknowledgements go out, and are reported.
    sleep 1
    before=$(packets_sent)
    flood "$PACKETS" || return 1
    sleep 1
    after=$(packets_sent)
    touch "$live_work/enough"
    [ "$SECONDS_LONG" -eq 0 ] || measure
    udp_job_wait
    udp_relay_stop
    echo "    $(cat "$live_work/stranger")" >&3
    rm -f "$live_work/enough"
    for kind in garbage plausible replayed misdirected harmed; do
        udp_has "$kind" "$live_work/stranger" || return 1
    done
    [ "$status" -eq 0 ] && udp_say_lines "$NODES" '^unchanged' && [ -n "$before" ] &&
        { [ "$before" = "$after" ] || { echo "answered: $before, then $after"; return 1; }; }
}

udp_verdict "a flood of $PACKETS packets is not answered and changes nothing" quiet_and_flooded
udp_verdict "nothing remains" live_nothing_remains
live_finish
