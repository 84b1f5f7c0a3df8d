#!/usr/bin/env bash
# Groups on several hosts: which node runs where, what makes no sense, hosts that cannot be reached,
# and what is passed on between nodes and the launcher. usage: hosts.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash source=hosts.bash
# shellcheck disable=SC2016,SC2154 # single quotes for shells inside; names from hosts.bash
. "$(dirname "$0")/../live.bash"
. "$(dirname "$0")/hosts.bash"

# ---- Places ------------------------------------------------------------------------------

nodes_know_their_place()
{
    live_group "${here[@]}" --label sh -c 'echo "$DIMMNET_RANK of $DIMMNET_SIZE in $PWD"'
    expect_status 0 && [ ! -s err ] && expect_out <<END
[0] 0 of 5 in $live_work
[1] 1 of 5 in $live_work
[2] 2 of 5 in $live_work
[3] 3 of 5 in $live_work
[4] 4 of 5 in $live_work
END
}

# One id for the group, one more for each host.
ids_are_shared()
{
    live_group "${here[@]}" sh -c 'echo "$DIMMNET_GROUP_ID ${DIMMNET_HOST_ID#"$DIMMNET_GROUP_ID"}"'
    expect_status 0 || return 1
    [ "$(cut -d' ' -f1 out | sort -u | wc -l)" -eq 1 ] && cut -d' ' -f2 out >ids && mv ids out &&
        expect_out <<<$'.00000\n.00000\n.00001\n.00001\n.00002'
}

only_hosts_that_are_needed()
{
    printf 'alpha address=127.0.0.1\nnowhere.invalid\n' >two
    live_group -n 1 --fabric udp --hosts two --rsh "$live_work/rsh" sh -c 'echo "$DIMMNET_SIZE"'
    expect_status 0 && expect_out <<<1
}

# The library's variables are passed on; others if they are named.
environments_are_passed()
{
    cat >clean <<'END'
#!/bin/sh
shift
exec env -i PATH="$PATH" LIVE_TEST_MARK="$LIVE_TEST_MARK" "$@"
END
    chmod +x clean
    DN_RELAX_SEED=7 SHMEM_DEBUG=0 FAGUS_STATS=1 OTHER=other ANOTHER=another NOT=not \
        live_group -n 3 --fabric udp --hosts three --rsh "$live_work/clean" \
        -x OTHER -x ANOTHER=mine -x MISSING sh -c \
        'echo "$DN_RELAX_SEED $SHMEM_DEBUG $FAGUS_STATS" \
            "$OTHER $ANOTHER ${NOT-none} ${MISSING-none}"'
    expect_status 0 && expect_out <<<$'7 0 1 other mine none none\n7 0 1 other mine none none
7 0 1 other mine none none'
}

live_verdict "nodes know their place" nodes_know_their_place
live_verdict "ids of group and hosts" ids_are_shared
live_verdict "hosts that are not needed are left alone" only_hosts_that_are_needed
live_verdict "environments" environments_are_passed

# ---- What makes no sense -------------------------------------------------------------------

bad_files_are_refused()
{
    printf 'alpha slots=none\n' >bad
    refused 2 'hosts file bad: line 1: slots takes' --fabric udp --hosts bad true &&
        refused 2 'hosts file none: No such file' --fabric udp --hosts none true &&
        refused 2 'hosts file three: 5 slots are too few for 6 nodes' -n 6 "${here[@]}" true &&
        refused 2 'hosts is for --fabric udp only' -n 2 --hosts three true &&
        refused 2 'rsh is for --hosts only' -n 2 --fabric udp --rsh ssh true &&
        refused 2 'remote-dimmnet is for --hosts only' -n 2 --fabric udp --remote-dimmnet x true &&
        refused 2 'x takes NAME or NAME=VALUE' -n 2 -x =1 true &&
        refused 2 'cannot start "no-such-shell -v"' --fabric udp --hosts three \
            --rsh 'no-such-shell -v' true &&
        refused 2 'not take as it is' "${here[@]}" --remote-dimmnet 'a;b' true
}

bad_addresses_are_refused()
{
    echo 'nowhere.invalid' >bad
    refused 2 'host nowhere.invalid: "nowhere.invalid" is no address' --fabric udp --hosts bad \
        --rsh "$live_work/rsh" true || return 1
    printf 'a address=127.0.0.1\nb address=192.0.2.1\n' >bad
    refused 2 'host a has a loopback address, which host b cannot reach' --fabric udp \
        --hosts bad --rsh "$live_work/rsh" true || return 1
    printf 'a address=127.0.0.1\nb address=::1\n' >bad
    refused 2 'hosts a and b have addresses of different kinds' --fabric udp --hosts bad \
        --rsh "$live_work/rsh" true || return 1
    echo 'a address=192.0.2.1' >bad
    refused 1 'on a: cannot bind node 0 to 192.0.2.1:0: Cannot assign' --fabric udp --hosts bad \
        --rsh "$live_work/rsh" true
}


# One host says it; the others may have come as far, too. Their agents end in order.
several_may_say_it()
{
    cat >noting <<'END'
#!/bin/sh
shift
"$@"
echo "$?" >>statuses
END
    chmod +x noting
    live_group --fabric udp --hosts three --rsh "$live_work/noting" no-such
    expect_status 2 && grep -qE 'on (alpha|beta|gamma): cannot start "no-such": No such file' err &&
        [ ! -s out ] && live_eventually test -s statuses && ! grep -v '^[012]$' statuses
}

taken_ports_are_named()
{
    local port
    port=$(live_free_ports 5)
    live_group -n 1 --fabric udp --port "$((port + 3))" sh -c '
        "$0" run --fabric udp --hosts three --rsh "$1" --port "$2" true 2>&1; echo "status $?"' \
        "$live_dimmnet" "$live_work/rsh" "$port"
    expect_status 0 && expect_out <<END
dimmnet run on beta: cannot bind node 3 to 127.0.0.1:$((port + 3)): Address already in use
status 1
END
}

live_verdict "bad files and options" bad_files_are_refused
live_verdict "bad addresses" bad_addresses_are_refused
live_verdict "a program that is not there" several_may_say_it
live_verdict "a taken port is named" taken_ports_are_named

# ---- Agents that cannot be reached -----------------------------------------------------------

unreachable_hosts_are_named()
{
    refused 1 'cannot reach an agent on host (alpha|beta|gamma) \(false exited with status 1\)' \
        --fabric udp --hosts three --rsh false true &&
        refused 1 'host (alpha|beta|gamma): this is not an agent: "(alpha|beta|gamma) ' \
            --fabric udp --hosts three --rsh echo true || return 1
    # The remote shell's own messages are seen, too.
    cat >broken <<'END'
#!/bin/sh
[ "$1" != beta ] || { echo "no way to $1" >&2; exit 255; }
shift
exec "$@"
END
    chmod +x broken
    refused 1 'cannot reach an agent on host beta .*broken exited with status 255' --fabric udp \
        --hosts three --rsh "$live_work/broken" true && grep -qx 'no way to beta' err &&
        live_nothing_remains
}

some_wait() { pgrep -P "$launcher" -f 'sleep 100' >/dev/null; }

# The host does not answer: the user's patience counts.
silent_hosts_time_out()
{
    printf '#!/bin/sh\nexec sleep 100\n' >silent
    chmod +x silent
    refused 124 'timed out after 0.5 s' --fabric udp --hosts three --rsh "$live_work/silent" \
        --timeout 0.5 true && live_nothing_remains || return 1
    start --fabric udp --hosts three --rsh "$live_work/silent" true
    live_eventually some_wait || return 1
    kill -INT "$launcher"
    finish
    expect_status 130 && live_nothing_remains
}

another_version_is_refused()
{
    printf '#!/bin/sh\nexec "%s" agent </dev/null\n' "$live_dimmnet" >other
    chmod +x other
    refused 1 'cannot reach an agent on host' --fabric udp --hosts three \
        --rsh "$live_work/other" true || return 1
    # A greeting with another protocol's number.
    python3 -c 'import struct, sys
sys.stdout.buffer.write(struct.pack("<6I", 19, 1, 77, 2, 1, 4096) + b"9.9")' >greeting
    printf '#!/bin/sh\ncat "%s/greeting"\nexec sleep 100\n' "$live_work" >other
    refused 1 'host (alpha|beta|gamma) has another version of dimmnet, 9.9' --fabric udp \
        --hosts three --rsh "$live_work/other" true && live_nothing_remains
}

live_verdict "hosts that cannot be reached are named" unreachable_hosts_are_named
live_verdict "hosts that say nothing" silent_hosts_time_out
live_verdict "hosts of another version" another_version_is_refused

# An agent is not for people, and trusts no input.
agents_believe_nobody()
{
    local said
    printf 'hello there, agent' | "$live_dimmnet" agent >greeting 2>err
    expect_status 0 || return 1
    grep -q "is not a launcher's" err || { echo "it took a text for a frame"; return 1; }
    # A frame out of turn, and an order of nothing.
    for said in '\x00\x00\x00\x00\x12\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00' \
        '\x00\x00\x00\x00\x02\x00\x00\x00'; do
        # shellcheck disable=SC2059
        if printf "$said" | timeout 20 "$live_dimmnet" agent >greeting 2>err; then
            echo "it was content with $said"
            return 1
        fi
    done
    timeout 20 "$live_dimmnet" agent </dev/null >greeting 2>err
    [ $? -eq 1 ]
}
status=0
live_verdict "agents believe nobody" agents_believe_nobody

# ---- Output and input ------------------------------------------------------------------------

bytes_pass_unchanged()
{
    head -c 3000000 /dev/urandom >bytes
    live_group "${here[@]}" sh -c '[ "$DIMMNET_RANK" != 3 ] || cat bytes'
    expect_status 0 && cmp bytes out || return 1
    live_group "${here[@]}" sh -c 'echo out; echo err >&2'
    [ "$(sort -u out)" = out ] && [ "$(sort err | uniq -c | awk '{ print $1 $2 }')" = 5err ]
}

readonly WRITER='BEGIN {
    letter = substr("abcdefgh", ENVIRON["DIMMNET_RANK"] + 1, 1)
    for (i = 0; i < 400; i++) {
        line = ""
        for (j = 0; j <= (i * 37) % 300; j++) line = line letter
        print line
    }
}'

lines_stay_whole()
{
    live_group "${here[@]}" awk "$WRITER"
    expect_status 0 || return 1
    [ "$(awk '{ first = substr($0, 1, 1); gsub(first, ""); if ($0 != "") bad++ }
              END { print NR, bad + 0 }' out)" = '2000 0' ] || { echo "lines are mixed"; return 1; }
    live_group "${here[@]}" --label printf 'unfinished'
    expect_out <<<$'[0] unfinished\n[1] unfinished\n[2] unfinished\n[3] unfinished\n[4] unfinished'
}

node_0_reads_standard_input()
{
    status=0
    head -c 1000000 /dev/urandom | base64 >text
    timeout 60 "$live_dimmnet" run "${here[@]}" cat <text >out 2>err || status=$?
    expect_status 0 && cmp text out || return 1
    # A node that does not read its input holds no other up.
    status=0
    timeout 60 "$live_dimmnet" run "${here[@]}" true <text >out 2>err || status=$?
    expect_status 0
}

stopped_reader()
{
    mkfifo pipe
    exec 7<>pipe
    set -m
    "$live_dimmnet" run "${here[@]}" sh -c 'if [ "$DIMMNET_RANK" = 2 ]; then sleep 1; kill -9 $$; fi
        exec yes' >pipe 2>err &
    launcher=$!
    set +m
    # Nobody reads: all is full long before the death, which is still told.
    live_eventually grep -q 'node 2 (pid .* on beta) was killed by SIGKILL' err || return 1
    kill -0 "$launcher" || return 1
    cat <&7 >received &
    local reader=$!
    finish
    kill "$reader"
    exec 7<&-
    rm pipe
    expect_status 137 && [ -s received ] && [ "$(tr -d 'y\n' <received | wc -c)" -eq 0 ] &&
        live_nothing_remains
}

nobody_reads()
{
    status=0
    timeout 60 "$live_dimmnet" run "${here[@]}" yes 2>err | head -n 1 >out || status=$?
    expect_status 141 && live_nothing_remains
}

live_verdict "bytes pass unchanged" bytes_pass_unchanged
live_verdict "lines stay whole" lines_stay_whole
live_verdict "node 0 reads standard input" node_0_reads_standard_input
live_verdict "a stopped reader does not delay a death" stopped_reader
live_verdict "nobody reads" nobody_reads

live_verdict "nothing remains" live_nothing_remains
live_finish
