#!/usr/bin/env bash
# Several programs share a board (dimmnet-board(1)): each gets its own packets and no other's, whoever
# comes, goes or dies beside it, the board itself included. usage: udp_board.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=udp.bash
. "$(dirname "$0")/udp.bash"
cd "$live_work" || exit

board_port=
board=

# Starts a board as a job of its own, with no signal ignored, and waits until it is ready.
board_start()
{
    [ -n "$board_port" ] || board_port=$(live_free_ports 1)
    : >board
    set -m
    env --default-signal "$live_dimmnet" board --port "$board_port" "$@" >board 2>&1 </dev/null &
    board=$!
    set +m
    udp_started+=("$board")
    live_eventually grep -q ' is ready for 64 users' board || { cat board; return 1; }
}

# board_end SIGNAL: ends it; leaves $status.
board_end()
{
    status=0
    kill -"$1" "$board"
    wait "$board" || status=$?
}

board_show() { "$live_dimmnet" board --show "$board_port" --json; }
board_users() { board_show | grep -c '"what":"user"'; }
board_has_users() { [ "$(board_users)" -eq "$1" ]; }
board_strays() { board_show | sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"; }

# program_start NAME OPTION... PROGRAM ARGUMENT...: a group on the board in the background; its words
# go to NAME.out and NAME.err, its launcher is in the array programs.
declare -A programs
program_start()
{
    local name=$1
    shift
    : >"$name.out" # what one of this name said before does not count
    "$live_dimmnet" run --fabric udp --board "$board_port" --timeout 60 "$@" >"$name.out" 2>"$name.err" \
        </dev/null &
    programs[$name]=$!
    udp_started+=("${programs[$name]}")
}

# program_end NAME STATUS
program_end()
{
    local status=0
    wait "${programs[$1]}" || status=$?
    [ "$status" -eq "$2" ] || { echo "$1: status $status, not $2"; cat "$1.out" "$1.err"; return 1; }
}

program_is_right()
{
    program_end "$1" 0 && grep -q '^traffic is right: [1-9]' "$1.out" || { echo "$1 is not right"; return 1; }
}

program_said() { live_eventually grep -qE -- "$2" "$1.out" || { cat "$1.out" "$1.err"; return 1; }; }

# ---- Beside each other ------------------------------------------------------------------------

# Four groups at a time, each of its own kind; each checks its data to the last byte.
several()
{
    local name
    board_start || return 1
    program_start one -n 2 "$udp_traffic" --seconds 1 --until go
    program_start two -n 3 --encrypt "$udp_traffic" --seconds 1 --until go
    program_start three -n 4 --mtu 1500 "$udp_traffic" --seconds 1 --until go
    program_start four -n 2 --no-auth "$udp_traffic" --seconds 1 --until go
    live_eventually board_has_users 11 || return 1
    [ "$(board_show | grep -o '"pgid":[0-9]*' | sort -u | wc -l)" -eq 4 ] || { board_show; return 1; }
    for name in one two three four; do
        program_said "$name" '^ok round 1$' || return 1
    done
    : >go
    for name in one two three four; do
        program_is_right "$name" || return 1
    done
    live_eventually board_has_users 0 || return 1
    "$live_dimmnet" board --show "$board_port" | grep -q ": 0 of 64 users; packets for nobody: 0 of unknown" ||
        { board_show; return 1; }
    board_end INT
    [ "$status" -eq 0 ] && grep -q 'has ended after 4 programs and 0 packets for nobody$' board ||
        { cat board; return 1; }
}
udp_verdict "four programs share a board" several

# Hosts are addresses of the loopback; each has its board.
two_hosts()
{
    local first second
    rm -f rsh hosts
    printf '#!/bin/sh\nshift\nexec "$@"\n' >rsh
    chmod +x rsh
    printf 'alpha slots=2 address=127.0.0.1\nbeta slots=2 address=127.0.0.2\n' >hosts
    board_start || return 1
    first=$board
    board_start --address 127.0.0.2 || return 1
    second=$board
    program_start fleet --hosts hosts --rsh "$live_work/rsh" "$udp_traffic" --rounds 3
    program_start beside -n 2 "$udp_traffic" --rounds 3
    program_is_right fleet && program_is_right beside || return 1
    kill -INT "$first" "$second"
    wait "$first" && wait "$second"
}
udp_verdict "a group across two boards, and one beside it" two_hosts

# ---- Packets of others ------------------------------------------------------------------------

# forge PGID TARGET COUNT: packets that would write in the target's memory.
forge()
{
    python3 - "$board_port" "$@" <<'END'
import socket, struct, sys
port, pgid, target, count = map(int, sys.argv[1:])
there = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(count):
    body = struct.pack("<BBHIQQ", 1, 0, 8, 1, 64, 0x6666666666666666) # AOTF into LLCM
    for kind in (1, 2):
        header = struct.pack("<BBBBHHIIIIHHQ", 1, kind, 0, 0, 0, target, pgid, 7, 7,
                             number if kind == 2 else 0, 0, len(body), 2 * number + kind)
        there.sendto(header + body + bytes(16), ("127.0.0.1", port))
END
}

counter() { "$live_dimmnet" info "$1" --json | grep -o "\"$2\":[0-9]*" | awk -F: '{ sum += $2 } END { print sum + 0 }'; }
refused_enough() { [ $(($(counter "${programs[prey]}" not_ours) + $(counter "${programs[prey]}" stale))) -ge "$1" ]; }

# A stranger without a group's incarnations is refused by the receiver, though nothing is
# authenticated and its PGID is right; with another PGID or target it does not come that far.
forged()
{
    local pgid
    rm -f go
    board_start || return 1
    program_start prey -n 2 --no-auth "$udp_traffic" --seconds 1 --until go
    program_said prey '^ok round 1$' || return 1
    pgid=$(board_show | sed -n 's/.*"pgid":\([0-9]*\),"rank":0.*/\1/p')
    forge "$pgid" 1 50
    live_eventually refused_enough 100 || { "$live_dimmnet" info "${programs[prey]}" --json; return 1; }
    [ "$(board_strays unknown_pgid)" -eq 0 ] && [ "$(board_strays unknown_target)" -eq 0 ] || return 1
    forge $(((pgid + 1) % 4294967296)) 1 20
    forge "$pgid" 2 30
    echo garbage >"/dev/udp/127.0.0.1/$board_port"
    live_eventually eval '[ "$(board_strays malformed)" -eq 1 ]' || return 1
    [ "$(board_strays unknown_pgid)" -eq 40 ] && [ "$(board_strays unknown_target)" -eq 60 ] ||
        { board_show; return 1; }
    : >go
    program_is_right prey || return 1
    board_end TERM
    grep -q 'has ended after 1 programs and 101 packets for nobody$' board || { cat board; return 1; }
}
udp_verdict "forged packets" forged

# ---- 64 users ---------------------------------------------------------------------------------

full()
{
    local name
    rm -f go
    board_start || return 1
    for name in a b c d; do
        program_start "$name" -n 16 "$udp_traffic" --rounds 1 stores
    done
    for name in a b c d; do
        program_is_right "$name" || return 1
    done
    live_eventually board_has_users 0 || return 1
    program_start most -n 60 sleep 60
    program_start rest -n 4 sleep 60
    live_eventually board_has_users 64 || return 1
    live_group -n 1 --fabric udp --board "$board_port" true
    [ "$status" -eq 1 ] && grep -q 'is full: 0 of its 64 users are free, and 1 nodes' err || return 1
    kill -TERM "${programs[rest]}"
    live_eventually board_has_users 60 || return 1
    live_group -n 4 --fabric udp --board "$board_port" "$udp_traffic" --rounds 1
    udp_traffic_is_right || return 1
    live_group -n 65 --fabric udp --board "$board_port" true
    [ "$status" -eq 2 ] && grep -q 'a board has 64 users; 65 nodes do not fit' err || return 1
    kill -TERM "${programs[most]}"
    live_eventually board_has_users 0
}
udp_verdict "64 users, and the 65th" full

# ---- Deaths -----------------------------------------------------------------------------------

# A node, and then a whole launcher, are killed; the group beside them does not notice.
killed()
{
    rm -f go
    board_start || return 1
    program_start beside -n 2 "$udp_traffic" --seconds 1 --until go
    udp_job_start -n 3 --fabric udp --board "$board_port" --timeout 30 --keep-going \
        "$live_programs/udp_peer" 500
    udp_all_wait 3
    local killed_us
    killed_us=$(udp_now_us)
    kill -KILL "$(udp_pid_of 1)"
    udp_job_wait
    [ "$status" -eq 137 ] && udp_say_lines 2 '^dead [02]: 1$' &&
        udp_heard_within "$killed_us" 0 "$UDP_SOON_MS" || return 1
    live_eventually board_has_users 2 || return 1
    program_start doomed -n 3 "$udp_traffic" --seconds 50
    program_said doomed '^ok round 1$' || return 1
    kill -KILL "${programs[doomed]}"
    live_eventually board_has_users 2 || return 1
    : >go
    program_is_right beside
}
udp_verdict "a node and a launcher are killed" killed

# The board ends before its programs: they go on to their end, one after the other, and then the port
# is free for the next one.
without_board()
{
    rm -f go later
    board_start || return 1
    program_start one -n 2 "$udp_traffic" --seconds 1 --until go
    program_start two -n 3 "$udp_traffic" --seconds 1 --until later
    program_said one '^ok round 1$' && program_said two '^ok round 1$' || return 1
    board_end "$1"
    if [ "$1" != KILL ]; then
        grep -q 'packets for nobody; 2 programs go on without it, and keep the port$' board ||
            { cat board; return 1; }
    fi
    live_group -n 1 --fabric udp --board "$board_port" true
    [ "$status" -eq 1 ] && grep -q "there is no board at 127.0.0.1:$board_port" err || return 1
    : >go
    program_is_right one || return 1
    status=0
    "$live_dimmnet" board --port "$board_port" >err 2>&1 || status=$?
    [ "$status" -eq 1 ] && grep -q 'programs of a board that has ended may still be there' err || return 1
    local rounds
    rounds=$(grep -c '^ok round' two.out)
    live_eventually eval "[ \$(grep -c '^ok round' two.out) -gt $((rounds + 2)) ]" || return 1
    : >later
    program_is_right two || return 1
    board_start && board_end TERM
}
udp_verdict "the board is interrupted under its programs" without_board INT
udp_verdict "the board is killed under its programs" without_board KILL

# A board that stands still: who wants to enter is told so in time.
stopped()
{
    board_start || return 1
    kill -STOP "$board"
    live_group -n 1 --fabric udp --board "$board_port" true
    kill -CONT "$board"
    [ "$status" -eq 1 ] && grep -q "the board at 127.0.0.1:$board_port does not answer" err || return 1
    live_eventually board_has_users 0
}
udp_verdict "a board that stands still" stopped

# ---- Words ------------------------------------------------------------------------------------

# refused STATUS PATTERN WORD...
refused()
{
    local wanted=$1 pattern=$2
    shift 2
    status=0
    "$live_dimmnet" "$@" >out 2>err || status=$?
    [ "$status" -eq "$wanted" ] && grep -q -- "$pattern" err || { echo "case: $*, status $status"; return 1; }
}

mistakes()
{
    refused 2 'one of --port and --show is needed' board &&
        refused 2 'one of --port and --show is needed' board --port 1 --show 1 &&
        refused 2 '--json is for --show' board --port 1 --json &&
        refused 2 'port' board --port 65536 &&
        refused 2 'is no address' board --port 7000 --address 'no such address' &&
        refused 2 'stands for every address' board --port 7000 --address 0.0.0.0 &&
        (ulimit -n 100 && refused 1 'a board needs 161 open files' board --port 7000) &&
        refused 2 'stands for every address' board --port 7000 --address :: &&
        refused 1 'cannot bind 192.0.2.77:' board --port "$(live_free_ports 1)" --address 192.0.2.77 &&
        refused 1 'there is no board at 127.0.0.1:' board --show "$(live_free_ports 1)" &&
        refused 2 'choose one' run --fabric udp --board 7000 --port 7001 true &&
        refused 2 'choose one' run --fabric udp --board 7000 --relay-port 7001 true
}
udp_verdict "mistakes are said" mistakes
udp_verdict "nothing remains" live_nothing_remains
live_finish
