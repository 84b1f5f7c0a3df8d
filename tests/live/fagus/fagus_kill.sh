#!/usr/bin/env bash
# A node is killed at chosen and at random moments, on every fabric: the others find whole versions
# that are not old, or are told. usage: fagus_kill.sh BUILD_FOLDER; DN_TEST_DEATHS is the number of
# deaths at random moments (3).
# shellcheck source-path=SCRIPTDIR source=fagus.bash
. "$(dirname "$0")/fagus.bash"

program=$live_programs/fagus_kill
notes=$live_work/notes

# killed MODE NODES MOMENT VICTIM SHIFT: as many die as the moment's name says.
killed()
{
    local mode=$1 nodes=$2 moment=$3 dead=1 survivors
    shift 2
    [[ $moment != two_* ]] || dead=2
    rm -f "$notes"
    fagus_group "$mode" "$nodes" --keep-going --timeout 60 "$program" "$notes" "$@" || return 1
    survivors=$(grep -c '^ok survivor' "$live_work/out")
    if [ "$survivors" -ne $((nodes - dead)) ] || [ "$status" -ne 137 ] ||
        grep '^FAIL' "$live_work/out"; then
        echo "$survivors survivors of $nodes, $*"
        return 1
    fi
}

# death MODE NODES MOMENT: each with its own seed, victim and sizes.
death()
{
    local victim shift
    DN_TEST_SEED=$((DN_TEST_SEED + 1))
    victim=$((DN_TEST_SEED % 3))
    shift=$((DN_TEST_SEED / 9 % 3))
    udp_verdict "$1, $2 nodes: node $victim dies ${3//_/ }, seed $DN_TEST_SEED" \
        killed "$1" "$2" "$3" "$victim" "$shift"
}

for mode in "${fagus_modes[@]}"; do
    [ "$mode" != bad ] || continue
    while read -r moment; do
        times=1
        [[ $moment != *any_time ]] || times=${DN_TEST_DEATHS:-3}
        for ((i = 0; i < times; i++)); do
            nodes=$((3 + i % 2))
            [[ $moment != two_* ]] || nodes=5
            death "$mode" "$nodes" "$moment"
        done
    done < <("$program" --list)
done
live_verdict "nothing remains" live_nothing_remains
live_finish
