#!/usr/bin/env bash
# A node that writes over its group's own words leads neither the launcher nor an agent nor
# `dimmnet info` astray: they end in time, say what is wrong, and harm nobody.
# usage: spoil.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash source=hosts.bash
# shellcheck disable=SC2154 # names from hosts.bash
. "$(dirname "$0")/../live.bash"
. "$(dirname "$0")/hosts.bash"
spoil=$live_programs/spoil
status=0
export SPOIL_END=$live_work/end

# info PROCESS: neither a signal nor the time ends it, and what it prints is printable.
info()
{
    local status=0
    timeout -k 5 20 "$live_dimmnet" info "$@" >told 2>wrong || status=$?
    [ "$status" -lt 100 ] || { echo "dimmnet info: status $status"; return 1; }
    ! LC_ALL=C grep -qP '[^\x20-\x7e\n]' told wrong
}

# Starts a group whose rank 0 does this harm: spoil_group OPTION... -- HARM...; leaves $launcher.
spoil_group()
{
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    rm -f input end
    mkfifo input
    : >out
    : >err
    "$live_dimmnet" run --timeout 60 "${options[@]}" "$spoil" "${@:2}" <input >out 2>err &
    launcher=$!
    exec 7>input
    live_eventually grep -q done out
}

# Rank 0 ends, and with it the group: finish STATUS.
finish()
{
    : >end
    exec 7>&-
    status=0
    live_eventually ended "$launcher" || return 1
    wait "$launcher" || status=$?
    expect_status "$1"
}

ended() { ! kill -0 "$1" 2>/dev/null || [ "$(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null)" = Z ]; }

the_head()
{
    local fabric byte
    for fabric in mem udp; do
        for byte in 255 0 1; do
            spoil_group -n 3 --fabric "$fabric" -- head "$byte" && info "$launcher" &&
                grep -q 'make no sense' wrong && info && finish 1 &&
                grep -q "a node has overwritten the group's own words" err || {
                echo "case: $fabric $byte"
                cat err wrong
                return 1
            }
        done
    done
}

# The others would go on for ever, but cannot be trusted any more.
the_head_with_keep_going()
{
    spoil_group -n 3 --keep-going -- head 255 || return 1
    exec 7>&-
    live_eventually ended "$launcher" || return 1
    status=0
    wait "$launcher" || status=$?
    expect_status 1 && grep -q "a node has overwritten the group's own words: the group ends" err
}

lives()
{
    local fabric
    for fabric in mem udp; do
        spoil_group -n 3 --fabric "$fabric" -- lives 77 && info --json "$launcher" &&
            [ "$(grep -c '"life":"attached"' told)" -eq 3 ] && info "$launcher" && finish 1 &&
            grep -q 'node 0 .* without dn_detach' err || {
            echo "case: $fabric"
            cat err told
            return 1
        }
    done
}

# An agent tells its launcher of lives; one that makes no sense would cost the whole host.
lives_by_agents()
{
    spoil_group "${here[@]}" -- lives 77 && finish 1 && cat err &&
        grep -q 'node 0 .* without dn_detach' err && ! grep -q 'says what it should not' err
}

ports()
{
    spoil_group -n 3 -- ports 255 && info "$launcher" && info && finish 1
}

a_process_outside()
{
    local number
    sleep 100 &
    local bystander=$!
    for number in "$bystander" 0xffffffff 1 0x80000001; do
        spoil_group -n 3 -- processes "$number" && info "$launcher" && finish 1 || return 1
    done
    kill -0 "$bystander" && kill "$bystander"
}

a_process_of_another_node()
{
    spoil_group -n 2 --keep-going -- neighbour
    exec 7>&-
    live_eventually grep -q 'node 0 .* without dn_detach' err || return 1
    : >end
    live_eventually grep -q here out && ! grep -q 'node 1' err || { cat err; return 1; }
    kill -TERM "$launcher"
    wait "$launcher" || true
}

a_wish_that_is_none()
{
    spoil_group -n 2 --keep-going -- wish 0x7fffff05
    exec 7>&-
    live_eventually grep -q 'node 0 .* without dn_detach' err || return 1
    : >end
    live_eventually grep -q here out || return 1
    kill -TERM "$launcher"
    wait "$launcher" || true
}

the_roads()
{
    rm -f mark
    SPOIL_MARK=$live_work/mark live_group -n 2 --timeout 30 "$spoil" roads
    expect_status 0 && [ "$(grep -c fine out)" -eq 2 ]
}

the_notice()
{
    spoil_group -n 2 -- notice && finish 1
}

# A process whose files only look like a group's: the roster is that of a smaller one.
forged_files()
{
    local group roster groups=() file result=0
    "$live_dimmnet" run -n 100 sleep 100 >out 2>err </dev/null &
    group=$!
    "$live_dimmnet" run -n 1 --fabric udp sleep 100 >out 2>err </dev/null &
    roster=$!
    groups=("$group" "$roster")
    live_eventually file_of "$group" dimmnet && live_eventually file_of "$roster" dimmnet-roster ||
        return 1
    for file in "$(file_of "$group" dimmnet) $(file_of "$roster" dimmnet-roster)" ''; do
        : >out
        # shellcheck disable=SC2086 # two files, or none
        "$spoil" forge $file >out &
        groups+=($!)
        live_eventually grep -q done out && info $! && info && info --json $! || result=1
        ! grep -q '"fabric":"udp"' told || { head -n 1 told; result=1; }
    done
    kill "${groups[@]}"
    wait "${groups[@]}" || true
    return "$result"
}

# file_of PROCESS NAME: the file of that name that the process has sealed.
file_of()
{
    local file
    for file in "/proc/$1/fd/"*; do
        if [ "$(readlink "$file")" = "/memfd:$2 (deleted)" ]; then
            echo "$file"
            return 0
        fi
    done
    return 1
}

live_verdict "the group's constant words" the_head
live_verdict "the group's constant words, with --keep-going" the_head_with_keep_going
live_verdict "lives that make no sense" lives
live_verdict "lives that make no sense, told by agents" lives_by_agents
live_verdict "whole ports" ports
live_verdict "a process outside of the group is not killed" a_process_outside
live_verdict "a process of another node is not killed" a_process_of_another_node
live_verdict "a wish that is none" a_wish_that_is_none
live_verdict "roads that do not exist" the_roads
live_verdict "the launcher's event" the_notice
live_verdict "files that only look like a group's" forged_files
live_verdict "nothing remains" live_nothing_remains
live_finish
