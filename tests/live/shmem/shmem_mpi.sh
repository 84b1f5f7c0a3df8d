#!/usr/bin/env bash
# OpenSHMEM programs that a launcher of MPI programs starts.
# usage: shmem_mpi.sh BUILD_FOLDER [LAUNCHER...]
# Without launchers (openmpi, mpich) there is only what Open MPI's tells its processes; with them
# programs have MPI in them, too. Those spin on all cores, and nothing that looks at the clock should
# run beside them.
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# The fabric of such a job is the first one, whatever this suite runs on.
unset DN_FABRIC
# What the launchers leave in folders of their own must not outlast this test.
export TMPDIR=$live_work OMPI_MCA_btl_vader_backing_directory=$live_work
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
bare=$live_programs/shmem_mpi # without MPI
source=$(dirname "$0")/shmem_mpi.c

# ---- Launchers: each starts $2... as $1 ranks ------------------------------------------------

openmpi() { mpirun.openmpi --oversubscribe --bind-to none -n "$@"; }

mpich() { mpiexec.hydra -n "$@"; }

# What Open MPI's tells its processes, and nothing of what it does for them.
plain()
{
    local size=$1 job=plain.$BASHPID rank status=0 processes=()
    shift
    for ((rank = 0; rank < size; rank++)); do
        OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=$size OMPI_COMM_WORLD_LOCAL_SIZE=$size \
            PMIX_NAMESPACE=$job "$@" &
        processes+=($!)
    done
    for rank in "${processes[@]}"; do
        wait "$rank" || status=$?
    done
    return "$status"
}

# The launchers that are here, and for those with a compiler the program with their MPI.
wanted=("${@:2}")
launchers=()
[ "${#wanted[@]}" -gt 0 ] || launchers=(plain)
declare -A programs=([plain]=$bare)
have_mpi=()
# The libraries of a sanitized build need a sanitized program.
is_sanitized() { grep -q -- -fsanitize= "$live_build/build.ninja"; }
for mpi in "${wanted[@]}"; do
    case $mpi in
    openmpi) launcher=mpirun.openmpi compiler=mpicc.openmpi ;;
    mpich) launcher=mpiexec.hydra compiler=mpicc.mpich ;;
    esac
    if ! command -v "$launcher" >/dev/null; then
        live_skip "$mpi" "$launcher is missing"
        continue
    fi
    launchers+=("$mpi")
    programs[$mpi]=$bare
    if ! command -v "$compiler" >/dev/null; then
        live_skip "$mpi: programs with MPI" "$compiler is missing"
    elif is_sanitized; then
        live_skip "$mpi: programs with MPI" "this build is sanitized"
    elif OMPI_CC=$live_build/oshcc MPICH_CC=$live_build/oshcc \
        "$compiler" -O1 -DWITH_MPI "$source" -o "$live_work/$mpi"; then
        programs[$mpi]=$live_work/$mpi
        have_mpi+=("$mpi")
    else
        live_fail "$mpi: the program is built"
    fi
done

# job LAUNCHER RANKS WORD...: runs the launcher's program; leaves out, err and $status.
job()
{
    local launcher=$1 ranks=$2
    shift 2
    started "$launcher" "$ranks" "${programs[$launcher]}" "$@"
}

# started LAUNCHER RANKS PROGRAM WORD...
started()
{
    status=0
    spoken "$@" || status=$?
}

spoken() { within "$@" >"$live_work/out" 2>"$live_work/err" </dev/null; }

# `timeout` for one of the functions above: 124 if it takes too long.
within() { timeout -k 5 90 bash -c "$(declare -f "$1")"'; "$@"' bash "$@"; }

expect_status()
{
    if [ "$status" -ne "$1" ]; then
        echo "status $status, not $1"
        return 1
    fi
}

expect_failure()
{
    if [ "$status" -eq 0 ] || [ "$status" -eq 124 ]; then
        echo "status $status"
        return 1
    fi
}

says() { grep -qF "$1" "$live_work/err" || { echo "nobody says: $1"; return 1; }; }

# ---- Jobs that end well ----------------------------------------------------------------------

# works LAUNCHER RANKS WORD
works()
{
    job "$@"
    expect_status 0 || return
    for ((rank = 0; rank < $2; rank++)); do
        grep -qx "ok $rank of $2" "$live_work/out" || { echo "no PE $rank"; return 1; }
    done
    live_nothing_remains
}

several()
{
    job "$1" 3 several
    expect_status 0 && [ "$(grep -c '^ok several' "$live_work/out")" -eq 3 ] &&
        live_nothing_remains
}

# Programs one after the other in one job are groups one after the other.
in_a_row()
{
    # shellcheck disable=SC2016 # the ranks' shells do that
    started "$1" 4 sh -c '"$0" mpi_first && "$0" mpi_first' "$bare"
    expect_status 0 && [ "$(grep -c '^ok' "$live_work/out")" -eq 8 ] && live_nothing_remains
}

# Of jobs at the same time each has its own group.
at_once()
{
    local i jobs=() failed=0
    for i in 1 2 3; do
        within "$1" "$((i + 1))" "${programs[$1]}" mpi_first >"$live_work/out$i" 2>&1 \
            </dev/null &
        jobs+=($!)
    done
    for i in 1 2 3; do
        wait "${jobs[i - 1]}" || failed=1
        if [ "$(grep -c "^ok . of $((i + 1))\$" "$live_work/out$i")" -ne "$((i + 1))" ]; then
            cat "$live_work/out$i"
            failed=1
        fi
    done
    [ "$failed" -eq 0 ] && live_nothing_remains
}

has_its_sizes()
{
    SHMEM_INFO=1 SHMEM_SYMMETRIC_SIZE=96M job "$1" 2 mpi_first
    expect_status 0 && grep -q "symmetric heap of $((96 << 20)) bytes" "$live_work/out"
}

relaxed()
{
    DN_RELAX=1 job "$1" 3 mpi_first
    expect_status 0 && [ "$(grep -c '^ok' "$live_work/out")" -eq 3 ]
}

# ---- Jobs that end early -----------------------------------------------------------------------

global_exit()
{
    job "$1" "$2" exit 17
    expect_status 17 && live_nothing_remains
}

# Waits until so many PEs have said which process they are; gives the one of a rank.
process_of() { sed -n "s/^PE $1 process //p" "$live_work/out"; }
all_speak() { [ "$(grep -c '^PE' "$live_work/out")" -eq "$1" ]; }

keepers()
{
    local process
    for process in $(live_marked_processes); do
        if grep -qx dimmnet-keeper "/proc/$process/comm" 2>/dev/null; then
            echo "$process"
        fi
    done
}

# killed LAUNCHER RANKS WHO PLACE: a rank, or the keeper, is killed while all are at that place.
killed()
{
    local launcher=$1 ranks=$2 who=$3 place=$4 runs victim spoke=0
    : >"$live_work/out"
    spoken "$launcher" "$ranks" "${programs[$launcher]}" wait "$place" &
    runs=$!
    live_eventually all_speak "$ranks" || spoke=1
    if [ "$who" = keeper ]; then
        victim=$(keepers)
    else
        victim=$(process_of "$who")
    fi
    # Without one the job's own alarm ends it.
    kill -KILL "$victim" || spoke=1
    wait_for_status "$runs"
    [ "$spoke" -eq 0 ] && expect_failure && live_nothing_remains
}

# `spoken` has run in the background.
wait_for_status()
{
    status=0
    wait "$1" || status=$?
}

# patiently TEST WORD...: with little patience, which is quick; and if that fails, because ranks came
# late on a busy machine for example, once more with as much as such a machine needs.
patiently()
{
    "$@" 2 4 && return
    echo "once more, with more patience"
    "$@" 12 18
}

# missing LAUNCHER RANKS WHO SENTENCE PATIENCE_S ABSENCE_S: a rank does not come, and all others say
# so, and end. It ends by itself, as not every launcher ends it.
missing()
{
    DN_JOIN_TIMEOUT_MS=${5}000 started "$1" "$2" "$bare" absent "$3" "$6"
    expect_failure && says "$4" && live_nothing_remains
}

# killed_early LAUNCHER RANK PATIENCE_S ABSENCE_S: a rank is killed before all have come. The others
# learn of it from the keeper, unless the launcher is quicker to end them, or it is the one that they
# wait for.
killed_early()
{
    local runs waits=0
    DN_JOIN_TIMEOUT_MS=${3}000 spoken "$1" 4 "$bare" absent 2 "$4" &
    runs=$!
    live_eventually keeper_waits || waits=1
    if [ "$waits" -eq 0 ]; then
        kill -KILL "$(rank_process "$2")" || waits=1
    fi
    wait_for_status "$runs"
    [ "$waits" -eq 0 ] && expect_failure || return
    if [ "$1" = plain ] && [ "$2" -ne 2 ]; then
        says "rank $2 ended or gave up before all ranks had come" || return
    fi
    live_nothing_remains
}

# All ranks but the one that is absent have come: each has hung its socket on the keeper's.
keeper_waits()
{
    local keeper sockets
    keeper=$(keepers)
    sockets=$(find "/proc/${keeper:-none}/fd" -lname 'socket:*' 2>/dev/null | wc -l)
    [ "$sockets" -eq 4 ]
}

rank_process()
{
    local process
    for process in $(live_marked_processes); do
        if [ "$(readlink "/proc/$process/exe")" = "$bare" ] &&
            grep -qzE "^(OMPI_COMM_WORLD_RANK|PMI_RANK)=$1\$" "/proc/$process/environ" &&
            ! grep -qx dimmnet-keeper "/proc/$process/comm"; then
            echo "$process"
        fi
    done
}

# ---- What does not go ------------------------------------------------------------------------------

on_several_hosts()
{
    status=0
    OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=1 \
        live_alone "$bare" mpi_first
    expect_failure && says "start a job of several hosts with dimmnet run --hosts"
}

on_another_fabric()
{
    DN_FABRIC=udp job plain 2 mpi_first
    expect_failure && says "DN_FABRIC=udp" && live_nothing_remains
}

# A header of this name lies beside Open MPI's mpi.h as well, and ours may be in a folder that the
# compiler knows by itself.
has_our_header()
{
    local ours
    ours=$("$live_build/oshcc" --showme:compile) || return
    mkdir -p "$live_work/theirs"
    echo '#error "the header of another library"' >"$live_work/theirs/shmem.h"
    echo '#include <shmem.h>' >"$live_work/ours.c"
    OSHCC_CC="cc -isystem ${ours#-I}" "$live_build/oshcc" "-I$live_work/theirs" -fsyntax-only \
        "$live_work/ours.c"
}

for mpi in "${have_mpi[@]}"; do
    for ranks in 1 2 3 8; do
        live_verdict "$mpi, $ranks ranks, MPI begins first" works "$mpi" "$ranks" mpi_first
        live_verdict "$mpi, $ranks ranks, OpenSHMEM begins first" works "$mpi" "$ranks" shmem_first
    done
done
for launcher in "${launchers[@]}"; do
    live_verdict "$launcher: OpenSHMEM begins several times" several "$launcher"
    live_verdict "$launcher: programs in a row" in_a_row "$launcher"
    live_verdict "$launcher: jobs at the same time" at_once "$launcher"
    live_verdict "$launcher: rank 0 decides the sizes" has_its_sizes "$launcher"
    live_verdict "$launcher: DN_RELAX" relaxed "$launcher"
    live_verdict "$launcher: global exit, 2 ranks" global_exit "$launcher" 2
    live_verdict "$launcher: global exit, 8 ranks" global_exit "$launcher" 8
    for place in barrier wait compute; do
        live_verdict "$launcher: rank 0 is killed, the others: $place" killed "$launcher" 3 0 $place
        live_verdict "$launcher: rank 2 is killed, the others: $place" killed "$launcher" 3 2 $place
    done
    live_verdict "$launcher: the keeper is killed" killed "$launcher" 3 keeper compute
    live_verdict "$launcher: the last rank is missing" patiently missing "$launcher" 3 last \
        "rank 2 of 3 has not come within"
    live_verdict "$launcher: rank 0 is missing" patiently missing "$launcher" 3 0 \
        "rank 0 has not come, or gave up"
    for rank in 0 1 2; do
        live_verdict "$launcher: rank $rank is killed early" \
            patiently killed_early "$launcher" "$rank"
    done
done
live_verdict "on several hosts" on_several_hosts
live_verdict "on another fabric" on_another_fabric
live_verdict "our header counts" has_our_header
live_verdict "nothing remains" live_nothing_remains
live_finish
