#!/usr/bin/env bash
# One of four nodes is killed at every step of everything that changes shared memory.
# Only in a build with -Dkillpoints=true. usage: killpoint.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# run_kill VICTIM PASSAGE POINT: the victim dies there, the others end as they should.
run_kill()
{
    export DN_KILL=$1:$2:$3
    live_group -n 4 --keep-going --timeout 30 "$live_programs/killpoint_node" "$1"
    if [ "$status" -eq 0 ]; then
        echo "never reached"
        return 1
    fi
    if [ "$status" -ne 137 ] || [ "$(wc -l <"$live_work/err")" -ne 1 ] ||
        ! grep -q "^dimmnet run: node $1 .* was killed by SIGKILL" "$live_work/err"; then
        echo "the launcher did not name node $1"
        return 1
    fi
    if [ "$(grep -cx survived "$live_work/out")" -ne 3 ]; then
        echo "not all of the others survived"
        return 1
    fi
    live_nothing_remains
}

# killpoint_service and killpoint_message test the services' points.
mapfile -t points < <("$live_programs/killpoint_node" --list | sort -u |
    grep -E '^team: (not )?arrived$|^(atomic|attach|botf|call|deregister|detach|push|put_signal|register|rights): ')
echo "${#points[@]} kill points"
for ((i = 0; i < ${#points[@]}; i++)); do
    point=${points[i]}
    live_verdict "$point, first passage, node 0" run_kill 0 1 "$point"
    live_verdict "$point, first passage, node $((1 + i % 3))" run_kill $((1 + i % 3)) 1 "$point"
    # A life begins and ends once.
    case $point in
    attach:* | detach:*) ;;
    *) live_verdict "$point, third passage, node $((i % 4))" run_kill $((i % 4)) 3 "$point" ;;
    esac
done

# Without an order no node dies, which shows that the orders did it.
nobody_is_killed()
{
    unset DN_KILL
    live_group -n 4 --timeout 30 "$live_programs/killpoint_node"
    [ "$status" -eq 0 ] && [ "$(grep -cx survived "$live_work/out")" -eq 4 ]
}
live_verdict "no order, no death" nobody_is_killed
live_finish
