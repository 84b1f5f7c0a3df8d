#!/usr/bin/env bash
# The environment of OpenSHMEM programs. usage: shmem_spec_environment.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

program=$live_programs/shmem_spec_environment
G=$((1 << 30))

# heap FITS TOO_MUCH VARIABLE...: with these variables FITS bytes can be allocated.
heap()
{
    local fits=$1 too_much=$2
    shift 2
    status=0
    env "$@" timeout -k 5 60 "$live_dimmnet" run -n 2 --timeout 50 "$program" "$fits" "$too_much" \
        >"$live_work/out" 2>"$live_work/err" </dev/null || status=$?
    [ "$status" -eq 0 ] && grep -qx 'ok environment' "$live_work/out"
}

# says WORDS VARIABLE...: only PE 0 prints a line with these words, once.
says()
{
    local words=$1
    shift
    heap 1000 $((1 << 45)) "$@" || return 1
    [ "$(grep -c -- "$words" "$live_work/out")" -eq 1 ] || { echo "not once: $words"; return 1; }
}

# refused VALUE: it is no heap size; the program ends and says so.
refused()
{
    if heap 1000 $((1 << 45)) "SHMEM_SYMMETRIC_SIZE=$1"; then
        echo "it was taken"
        return 1
    fi
    grep -q 'SHMEM_SYMMETRIC_SIZE' "$live_work/err"
}

silent()
{
    heap 1000 $((1 << 45)) A=1 && [ "$(wc -l <"$live_work/out")" -eq 1 ] &&
        [ ! -s "$live_work/err" ]
}

# An untouched heap takes no memory: the job's memory stays far below the heap's size.
costs_nothing()
{
    heap $((60 * G)) $((65 * G)) SHMEM_SYMMETRIC_SIZE=64G
}

live_verdict "the heap has a default size" heap $((512 << 20)) $((1 << 45)) A=1
live_verdict "SHMEM_SYMMETRIC_SIZE in bytes" heap 1000000 $((64 << 20)) SHMEM_SYMMETRIC_SIZE=4194304
live_verdict "SHMEM_SYMMETRIC_SIZE with k" heap 1000000 $((64 << 20)) SHMEM_SYMMETRIC_SIZE=2048k
live_verdict "SHMEM_SYMMETRIC_SIZE with M" heap 15000000 $((640 << 20)) SHMEM_SYMMETRIC_SIZE=16M
live_verdict "SHMEM_SYMMETRIC_SIZE with a point" heap $((3 << 19)) $((64 << 20)) \
    SHMEM_SYMMETRIC_SIZE=1.75m
live_verdict "SHMEM_SYMMETRIC_SIZE=64G on a small machine" costs_nothing
live_verdict "SHMEM_SYMMETRIC_SIZE=0.1t" heap $((100 * G)) $((110 * G)) SHMEM_SYMMETRIC_SIZE=0.1t
live_verdict "SMA_SYMMETRIC_SIZE, deprecated" heap 1000000 $((64 << 20)) SMA_SYMMETRIC_SIZE=4M
live_verdict "SHMEM_ counts more than SMA_" heap 15000000 $((640 << 20)) SMA_SYMMETRIC_SIZE=1M \
    SHMEM_SYMMETRIC_SIZE=16M
for value in 20kk 5x -1M M 0 1..5M; do
    live_verdict "SHMEM_SYMMETRIC_SIZE=$value is refused" refused "$value"
done
live_verdict "SHMEM_VERSION prints the version" says 'OpenSHMEM 1.6' SHMEM_VERSION=1
live_verdict "SMA_VERSION prints it too" says 'OpenSHMEM 1.6' SMA_VERSION=yes
for name in VERSION INFO SYMMETRIC_SIZE DEBUG; do
    live_verdict "SHMEM_INFO describes SHMEM_$name" says "SHMEM_$name" SHMEM_INFO=1
done
live_verdict "without them nothing is printed" silent
live_verdict "nothing remains" live_nothing_remains
live_finish
