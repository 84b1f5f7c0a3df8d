#!/usr/bin/env bash
# Every Fagus example runs in all modes, on 1 to 4 nodes, and its result is that of its own serial
# run; none leaves anything behind. usage: fagus_examples.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

simulated=${DN_FABRIC-}
unset DN_FABRIC FAGUS_FORCE_REMOTE FAGUS_CHECK

# Sizes that do not divide evenly.
declare -A sizes=([sor]="37 70 11" [lu]="160" [matrix]="150" [nbody]="101 7" [radix]="20011"
    [tsp]="9")

# runs NAME MODE NODES
runs()
{
    local fabric=mem arguments
    read -ra arguments <<<"${sizes[$1]}"
    case $2 in
    remote) export FAGUS_FORCE_REMOTE=1 ;;
    checked) export FAGUS_FORCE_REMOTE=1 FAGUS_CHECK=1 ;;
    udp) fabric=udp ;;
    sim) fabric=$simulated ;;
    esac
    live_group --fabric "$fabric" -n "$3" --timeout 60 "$live_build/examples/fagus/$1" \
        "${arguments[@]}"
    unset FAGUS_FORCE_REMOTE FAGUS_CHECK
    if [ "$status" -ne 0 ] || ! grep -q 'the same as alone$' "$live_work/out"; then
        echo "status $status"
        return 1
    fi
    live_nothing_remains
}

# Red-black rows change every other word, and no more than that may travel.
sends_what_changes()
{
    local ratio
    FAGUS_FORCE_REMOTE=1 live_group -n 3 --timeout 60 "$live_build/examples/fagus/sor" 30 500 60
    ratio=$(sed -n 's/.* came, ratio //p' "$live_work/out")
    if [ "$status" -ne 0 ] || ! awk -v ratio="${ratio:-9}" 'BEGIN { exit ratio > 1.3 }'; then
        echo "status $status, $ratio bytes for each that changed"
        return 1
    fi
}

# Arguments that make no sense are refused: refuses NAME ARGUMENT...
refuses()
{
    local name=$1
    shift
    live_alone "$live_build/examples/fagus/$name" "$@"
    if [ "$status" -ne 2 ] || [ ! -s "$live_work/err" ]; then
        echo "status $status"
        return 1
    fi
}

# One of several nodes prints the usage.
helps()
{
    live_group -n 2 --timeout 60 "$live_build/examples/fagus/$1" --help
    if [ "$status" -ne 0 ] || [ "$(grep -c '^usage: ' "$live_work/out")" -ne 1 ] ||
        ! grep -q '^Exit status: ' "$live_work/out"; then
        echo "status $status"
        return 1
    fi
}

# Paper 001's measurements: four rows, the first three beside the paper's figures; no time is shown
# as none.
repeats_the_paper()
{
    # A hundred thousand turns of two nodes, each of which wants a core.
    FAGUS_FORCE_REMOTE=1 live_group -n 2 --timeout 100 "$live_build/examples/fagus/papers"
    if [ "$status" -ne 0 ] ||
        [ "$(grep -cE 'paper 001, evaluation (1|2, row 2)$' "$live_work/out")" -ne 3 ] ||
        ! grep -q '^64 bytes acquired from elsewhere' "$live_work/out" ||
        grep -qE ' us +0\.0+ ' "$live_work/out"; then
        echo "status $status"
        return 1
    fi
    live_nothing_remains
}

# Rows 3 and 4 of its second evaluation, where packets carry it.
repeats_the_paper_over_udp()
{
    live_group -n 2 --fabric udp --timeout 100 "$live_build/examples/fagus/papers" udp
    if [ "$status" -ne 0 ] ||
        [ "$(grep -cE '^comm_sync, UDP .*evaluation 2, row [34]: ' "$live_work/out")" -ne 2 ]; then
        echo "status $status"
        return 1
    fi
    live_nothing_remains
}

if [[ $simulated == sim:* ]]; then
    for example in sor lu matrix nbody radix tsp; do
        live_verdict "$example, sim, 3 nodes" runs "$example" sim 3
    done
    live_finish
    exit
fi
for example in sor lu matrix nbody radix tsp; do
    live_verdict "$example says how it is used" helps "$example"
    for nodes in 1 2 3 4; do
        for mode in shared remote udp; do
            live_verdict "$example, $mode, $nodes nodes" runs "$example" "$mode" "$nodes"
        done
    done
    # None touches bound memory that it does not hold.
    live_verdict "$example, checked, 3 nodes" runs "$example" checked 3
done
live_verdict "sor sends what changes" sends_what_changes
live_verdict "the paper's own measurements" repeats_the_paper
live_verdict "the paper's own measurements, over UDP" repeats_the_paper_over_udp
live_verdict "lu refuses a size" refuses lu 33
live_verdict "tsp refuses cities" refuses tsp 17
live_verdict "sor refuses a word" refuses sor 10x
live_verdict "sor refuses a number that wraps round" refuses sor 18446744073709551615
live_verdict "sor refuses an argument too many" refuses sor 10 10 10 10
live_finish
