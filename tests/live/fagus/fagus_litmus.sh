#!/usr/bin/env bash
# Litmus shapes: with synchronisation, the outcome that no interleaving explains never comes;
# without it, it does. usage: fagus_litmus.sh BUILD_FOLDER; DN_TEST_ROUNDS multiplies the rounds
# (1).
# shellcheck source-path=SCRIPTDIR source=fagus.bash
. "$(dirname "$0")/fagus.bash"

program=$live_programs/fagus_litmus
declare -A rounds=([shared]=1024 [remote]=1024 [udp]=128 [bad]=64 [sim]=64)

outcomes() { sed -n 's/^\([0-9]*\) of [0-9]* rounds had the outcome$/\1/p' "$live_work/out"; }

# never MODE NODES SHAPE ROUNDS, always MODE NODES SHAPE: does the outcome come?
never()
{
    fagus_group "$1" "$2" --timeout 60 "$program" "$3" "$4" || return 1
    if [ "$status" -ne 0 ] || [ "$(outcomes)" != 0 ]; then
        cat "$live_work/out"
        return 1
    fi
}

always()
{
    local count
    fagus_group "$1" "$2" --timeout 60 "$program" "$3" 1 --weak || return 1
    count=$(outcomes)
    if [ "$status" -ne 0 ] || [ "${count:-0}" -eq 0 ]; then
        cat "$live_work/out"
        return 1
    fi
    echo "    $(cat "$live_work/out")" >&3
}

while read -r shape nodes; do
    for mode in "${fagus_modes[@]}"; do
        [ "$mode" != bad ] || [ "$shape" = causality ] || [ "$shape" = barrier ] || continue
        udp_verdict "${shape//_/ }: never, $mode, $nodes nodes" never "$mode" "$nodes" "$shape" \
            $((${rounds[$mode]} * ${DN_TEST_ROUNDS:-1}))
    done
    if [ "$nodes" -lt 4 ] && [[ " ${fagus_modes[*]} " == *" remote "* ]]; then
        udp_verdict "${shape//_/ }: never, remote, 4 nodes" never remote 4 "$shape" 512
    fi
    for mode in remote udp; do
        if [[ " ${fagus_modes[*]} " == *" $mode "* ]]; then
            udp_verdict "${shape//_/ }: without synchronisation, $mode" always "$mode" "$nodes" "$shape"
        fi
    done
done < <("$program" --list)
live_verdict "nothing remains" live_nothing_remains
live_finish
