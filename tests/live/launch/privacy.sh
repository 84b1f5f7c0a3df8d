#!/usr/bin/env bash
# Nobody else can get at a group's memory: no other user, no program that a node starts, and nobody
# at all after its end. usage: privacy.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# The command that runs a command as another user.
as_owner=(setpriv --reuid 65533 --regid 65533 --clear-groups --)
as_stranger=(setpriv --reuid 65534 --regid 65534 --clear-groups --)

all_hold() { [ "$(grep -c '^holding ' "$live_work/out")" -eq 2 ]; }

# start_group [command...]: two nodes that hold a secret, started through the command; sets
# launcher and inode.
start_group()
{
    : >"$live_work/out"
    "$@" "$programs/dimmnet" run -n 2 "$programs/privacy" hold \
        >"$live_work/out" 2>"$live_work/err" </dev/null &
    launcher=$!
    status=0
    live_eventually all_hold || return 1
    inode=$(awk '{ print $2; exit }' "$live_work/out")
}

stop_group()
{
    kill -TERM "$launcher"
    wait "$launcher"
    status=$?
    live_nothing_remains
}

# All processes that may have the memory: launcher, guardian, nodes.
attack_fails()
{
    local pids
    mapfile -t pids < <(live_marked_processes)
    [ "${#pids[@]}" -eq 4 ] || { echo "${#pids[@]} processes, not 4"; return 1; }
    LIVE_TEST_MARK='' "${as_stranger[@]}" "$programs/privacy" attack "${pids[@]}"
}

# The same program must be able to succeed, or its failure would prove nothing.
attack_of_root_succeeds()
{
    local pids
    mapfile -t pids < <(live_marked_processes)
    status=0
    LIVE_TEST_MARK='' "$programs/privacy" attack "${pids[@]}" >"$live_work/reached" || status=$?
    [ "$status" -eq 3 ] || return 1
    for way in fd map_files mem maps environ pidfd_getfd process_vm_readv ptrace; do
        grep -q "by .*$way\$" "$live_work/reached" || { echo "root does not reach $way"; return 1; }
    done
}

# The processes that have a file with that number, as root sees it.
holders_of()
{
    find /proc/[0-9]*/fd -maxdepth 1 -type l -lname '*memfd:dimmnet*' -print0 2>/dev/null |
        xargs -0r stat -L -c '%i %n' 2>/dev/null | awk -v inode="$1" '$1 == inode'
    awk -v inode="$1" '$5 == inode && /memfd:dimmnet/ { print FILENAME }' /proc/[0-9]*/maps \
        2>/dev/null
}

# The group's processes have it, and no others.
only_the_group_holds()
{
    local pids others
    mapfile -t pids < <(live_marked_processes)
    others=$(holders_of "$1" | grep -vE "/proc/($(IFS='|' && echo "${pids[*]}"))/")
    [ -z "$others" ] || { echo "also held by $others"; return 1; }
    [ -n "$(holders_of "$1")" ]
}

memory_is_gone()
{
    local holders
    holders=$(holders_of "$1")
    [ -z "$holders" ] || { echo "still held: $holders"; return 1; }
}

# try_group NAME [command...]: what a stranger can get from a group that was started this way.
try_group()
{
    local name=$1
    shift
    if ! start_group "$@"; then
        live_fail "$name: starts"
        live_show_group
        return
    fi
    live_verdict "$name: only its processes hold the memory" only_the_group_holds "$inode"
    live_verdict "$name: another user reaches nothing" attack_fails
    live_verdict "$name: root does" attack_of_root_succeeds
    live_verdict "$name: nothing remains" stop_group
    live_verdict "$name: the memory is gone" memory_is_gone "$inode"
}

# inherited_nothing FABRIC
inherited_nothing()
{
    live_group -n 2 --fabric "$1" --timeout 30 "$live_programs/privacy" inherit
    [ "$status" -eq 0 ] && [ "$(grep -cx 'ok inherit' "$live_work/out")" -eq 2 ]
}
live_verdict "a node's programs inherit nothing" inherited_nothing mem
live_verdict "a node's programs inherit nothing by packets" inherited_nothing udp

if [ "$(id -u)" -ne 0 ]; then
    live_skip "another user" "only root can become another user"
elif ! "${as_stranger[@]}" true 2>/dev/null; then
    live_skip "another user" "setpriv does not work here"
else
    # In a place that every user can read.
    programs=$live_work/programs
    mkdir "$programs"
    cp "$live_dimmnet" "$live_programs/privacy" "$live_build"/libdimmnet.so.0 "$programs"
    chmod 755 "$live_work" "$programs"
    export LD_LIBRARY_PATH=$programs
    try_group "root's group"
    try_group "a user's group" "${as_owner[@]}"
fi
live_finish
