# shellcheck shell=bash
# What the tests of the udp fabric share, beside live.bash, which it sources; $1 is the build
# folder. Everything is on loopback or in network namespaces that a test makes itself. However the
# test ends, what it started is ended and what it made is removed.
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "${BASH_SOURCE[0]}")/../live.bash"

# A death that the launcher tells is heard this soon, even on a busy machine; without its word the
# peer time-out would tell it after 10 s.
# shellcheck disable=SC2034 # for the tests
readonly UDP_SOON_MS=5000
# One that only silence tells, after a time-out of some seconds: a busy machine may take this long
# to let all nodes look.
# shellcheck disable=SC2034 # for the tests
readonly UDP_LATE_MS=30000
udp_tools=$live_build/tests/tools
# shellcheck disable=SC2034 # for the tests
udp_traffic=$live_programs/udp_traffic
udp_port=     # of node 0
udp_relay_port=
udp_started=() # tools and jobs in the background
unset DN_FABRIC DN_RELAX

# Ends all that is still running; a launcher ends its nodes.
udp_end_all()
{
    local process
    for process in "${udp_started[@]}"; do
        kill -TERM "$process" 2>/dev/null
    done
    for process in "${udp_started[@]}"; do
        wait "$process" 2>/dev/null
    done
    udp_started=()
}

udp_clean_up()
{
    udp_end_all
    if declare -F udp_clean_up_more >/dev/null; then
        udp_clean_up_more
    fi
    rm -rf "$live_work"
}
trap udp_clean_up EXIT
trap 'exit 130' INT TERM HUP

# udp_verdict NAME COMMAND...: as live_verdict; nothing of the case goes on afterwards.
udp_verdict()
{
    status=0
    live_verdict "$@"
    udp_end_all
}

# The whole test cannot run here.
udp_skip()
{
    echo "SKIP: $1"
    exit 77
}

# udp_relay_start NODES OPTION...: a relay between new ports; leaves udp_port, udp_relay_port
# and udp_relay_process.
udp_relay_start()
{
    local nodes=$1 tries
    shift
    for ((tries = 0; tries < 5; tries++)); do
        udp_port=$(live_free_ports "$nodes")
        udp_relay_port=$(live_free_ports "$nodes")
        if [ $((udp_port - udp_relay_port)) -lt "$nodes" ] &&
            [ $((udp_relay_port - udp_port)) -lt "$nodes" ]; then
            continue
        fi
        if udp_relay_again "$nodes" "$@"; then
            return
        fi
    done
    echo "the relay does not start:"
    cat "$live_work/relay"
    return 1
}

# The same between the ports used before.
udp_relay_again()
{
    local nodes=$1
    shift
    : >"$live_work/relay"
    "$udp_tools/relay" --listen "$udp_relay_port" --to "$udp_port" --nodes "$nodes" \
        --seed "$DN_TEST_SEED" "$@" >"$live_work/relay" 2>&1 </dev/null &
    udp_relay_process=$!
    udp_started+=("$udp_relay_process")
    while ! grep -q ready "$live_work/relay"; do
        kill -0 "$udp_relay_process" 2>/dev/null || return 1
        sleep 0.01
    done
}

udp_relay_stop()
{
    kill -TERM "$udp_relay_process" && wait "$udp_relay_process"
}

# udp_number NAME FILE: the number from a line of name=number.
udp_number() { sed -n "s/.* $1=\([0-9]*\).*/\1/p" "$2"; }

# udp_has NAME FILE: that number is there and not 0.
udp_has()
{
    local number
    number=$(udp_number "$1" "$2")
    [ "${number:-0}" -gt 0 ] || { echo "$1 is ${number:-missing}, but it should have happened"; return 1; }
}

# The last group ended well, and its traffic was right to the last byte.
udp_traffic_is_right()
{
    if [ "$status" -ne 0 ] || ! grep -q '^traffic is right: [1-9]' "$live_work/out"; then
        echo "status $status"
        return 1
    fi
}

# udp_job_start OPTION... PROGRAM ARGUMENT...: as live_group, in the background, where the
# launcher's own --timeout bounds it; then udp_job_wait leaves $status.
udp_job_start()
{
    : >"$live_work/out"
    "$live_dimmnet" run "$@" >"$live_work/out" 2>"$live_work/err" </dev/null &
    udp_job=$!
    udp_started+=("$udp_job")
}

udp_job_wait()
{
    status=0
    wait "$udp_job" || status=$?
}

udp_said() { grep -q -- "$1" "$live_work/out"; }
udp_job_ended() { ! kill -0 "$udp_job" 2>/dev/null; }

# Waits until the job has said a matching line; 1 if it ended without.
udp_job_says()
{
    live_eventually eval "udp_said '$1' || udp_job_ended" >/dev/null
    udp_said "$1" || { echo "the job never said: $1"; return 1; }
}

udp_now_us() { echo "${EPOCHREALTIME/./}"; }

# ---- What nodes of udp_peer and udp_traffic say ------------------------------------------

udp_pid_of() { sed -n "s/^node $1 pid //p" "$live_work/out"; }
udp_lines() { grep -cE -- "$1" "$live_work/out"; }

# udp_say_lines COUNT PATTERN: that many matching lines were said.
udp_say_lines()
{
    local count
    count=$(udp_lines "$2")
    [ "$count" -eq "$1" ] || { echo "$count lines like \"$2\", not $1"; return 1; }
}

# That many nodes all wait, or the job has ended.
udp_all_wait() { live_eventually eval "[ \$(udp_lines '^waiting') -eq $1 ] || udp_job_ended"; }

# udp_heard_within FROM_US LEAST_MS MOST_MS: every node heard DN_EPEER in that time. Prints how long
# it took to descriptor 3.
udp_heard_within()
{
    local heard_us took_ms worst_ms=0
    while read -r heard_us; do
        took_ms=$(((heard_us - $1) / 1000))
        [ "$took_ms" -le "$worst_ms" ] || worst_ms=$took_ms
        [ "$took_ms" -ge "$2" ] || { echo "heard after $took_ms ms already"; return 1; }
    done < <(sed -n 's/^epeer [0-9]* //p' "$live_work/out")
    echo "    DN_EPEER came within $worst_ms ms" >&3
    [ "$worst_ms" -le "$3" ] || { echo "heard after $worst_ms ms"; return 1; }
}
exec 3>&1
