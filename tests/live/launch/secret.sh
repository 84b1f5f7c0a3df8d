#!/usr/bin/env bash
# Where a group's secret is, on one host and through agents: in one locked place of each node while
# it is attached, and nowhere else. usage: secret.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash source=hosts.bash
# shellcheck disable=SC2154 # names from hosts.bash
tools=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/../live.bash"
. "$(dirname "$0")/hosts.bash"

# What is searched is smaller, and sooner done.
export DN_REGISTERED_BYTES=1M
finder=(python3 "$tools/secret.py")
# Nodes come by way of a shell and of a program that becomes another one.
program=(sh -c '"$@"; exit $?' sh "${finder[@]}" tap "$live_work/secret" "$live_programs/privacy"
         keep)

all_detached() { [ "$(grep -c '^detached$' out)" -eq "$1" ]; }

pids_of() { sed -n "s/^$1 //p" out; }

# family PID: a process and all below it.
family()
{
    local child
    echo "$1"
    # shellcheck disable=SC2013 # words, not lines
    for child in $(cat "/proc/$1/task/$1/children"); do
        family "$child"
    done
}

# All processes of the group that have no business with the secret: launcher, agents, guardians,
# the shells above the nodes, the nodes' forked children.
others() { family "$launcher" | grep -vxF -e "$(pids_of node)"; }

# begin NODES OPTION...: a group whose nodes are attached and have spoken with each other.
begin()
{
    local nodes=$1
    shift
    rm -f detach enough crash secret
    status=0
    start "$@" "${program[@]}"
    live_eventually lines_are out $((2 * nodes)) && [ "$(pids_of node | wc -l)" -eq "$nodes" ]
}

nothing_found() { [ -z "$1" ] || { echo "found: $1"; return 1; }; }

# expect_places NODES: what the search found is one place of each node, in memory for secrets.
expect_places()
{
    mapfile -t pids < <(pids_of node)
    found=$("${finder[@]}" search secret "${pids[@]}") || return 1
    if [ "$(cut -d' ' -f1,2 <<<"$found" | sort)" != \
        "$(pids_of node | sed 's/$/ vault/' | sort)" ]; then
        echo "in nodes ${pids[*]}: $found"
        return 1
    fi
}

others_have_none()
{
    mapfile -t pids < <(others)
    [ "${#pids[@]}" -eq "$1" ] || { echo "${#pids[@]} others, not $1"; return 1; }
    nothing_found "$("${finder[@]}" search secret "${pids[@]}" 2>&1)"
}

keys_have_no_echo()
{
    mapfile -t pids < <(pids_of node)
    found=$("${finder[@]}" echoes "${pids[@]}") || return 1
    if [ "$(sort <<<"$found")" != "$(pids_of node | sed 's/$/ has keys/' | sort)" ]; then
        echo "in nodes ${pids[*]}: $found"
        return 1
    fi
}

no_descriptor_gives_it()
{
    mapfile -t pids < <(family "$launcher")
    nothing_found "$("${finder[@]}" descriptors secret "${pids[@]}" 2>&1)"
}

gone_after_detach()
{
    touch detach
    live_eventually all_detached "$1" || return 1
    mapfile -t pids < <(pids_of node)
    nothing_found "$("${finder[@]}" search secret "${pids[@]}" 2>&1)"
}

ends()
{
    touch enough
    finish
    expect_status 0 && live_nothing_remains
}

# try NAME NODES OTHERS OPTION...
try()
{
    local name=$1 nodes=$2 others=$3
    shift 3
    if ! begin "$nodes" "$@"; then
        live_fail "$name: starts"
        live_show_group
        return
    fi
    live_verdict "$name: one locked place in each node" expect_places
    live_verdict "$name: no copy of a key elsewhere" keys_have_no_echo
    live_verdict "$name: nothing in launcher, agents, guardians and children" \
        others_have_none "$others"
    live_verdict "$name: no descriptor gives it" no_descriptor_gives_it
    live_verdict "$name: nothing after dn_detach" gone_after_detach "$nodes"
    live_verdict "$name: ends" ends
}

# A node that aborts leaves a core file, in which the program's memory is, and not the secret.
core_files()
{
    begin 2 -n 2 --fabric udp || return 1
    touch crash
    finish
    local core cores=0
    for core in core*; do
        [ -s "$core" ] || continue
        cores=$((cores + 1))
        python3 - "$core" secret <<'PYTHON' || return 1
import sys
core, secret = (open(path, "rb").read() for path in sys.argv[1:])
assert (0x7365637265742121).to_bytes(8, sys.byteorder) in core, "no program's memory in the core file"
assert secret not in core, "the secret is in the core file"
PYTHON
    done
    rm -f core*
    [ "$cores" -ge 1 ] || { echo "no core file"; return 1; }
}

may_search() { sh -c 'sleep 5 & grep -q . "/proc/$!/smaps" && head -c 0 "/proc/$!/mem"; s=$?; kill $!; exit $s'; }

if grep -q -- -fsanitize= "$live_build/build.ninja"; then
    live_skip "the secret" "sanitizers lock nothing, and copy what they like"
elif ! may_search 2>/dev/null; then
    live_skip "the secret" "this system lets nobody look into processes"
else
    # Launcher, guardian, and for each node a shell and a forked child.
    try "one host" 2 6 -n 2 --fabric udp
    # Launcher and guardian, three agents with theirs, and the same for each node.
    try "through agents" 5 18 "${here[@]}"
    if [ "$(cat /proc/sys/kernel/core_pattern)" = core ] && ulimit -c unlimited 2>/dev/null; then
        live_verdict "a core file does not hold it" core_files
        ulimit -S -c 0
    else
        live_skip "a core file" "core files are not written here"
    fi
fi
live_verdict "nothing remains" live_nothing_remains
live_finish
