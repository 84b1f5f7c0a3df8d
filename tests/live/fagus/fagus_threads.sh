#!/usr/bin/env bash
# Threads of one node meet in the shared memory, in each mode: the part of Fagus that TSan checks,
# beside fagus_random.sh. TSan cannot do deaths, guarded pages and terabytes; and litmus shapes have
# only one thread on each node. usage: fagus_threads.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=fagus.bash
. "$(dirname "$0")/fagus.bash"

for mode in shared remote udp; do
    export FAGUS_FORCE_REMOTE=0 DN_FABRIC=mem
    case $mode in
    remote) FAGUS_FORCE_REMOTE=1 ;;
    udp) DN_FABRIC=udp ;;
    esac
    echo "# $mode"
    live_checks fagus_condition 3
    live_checks fagus_port 3
    live_checks fagus_base 3
    live_checks fagus_sync 2
done
live_verdict "nothing remains" live_nothing_remains
live_finish
