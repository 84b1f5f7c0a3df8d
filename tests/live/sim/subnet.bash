# shellcheck shell=bash
# What the tests of `dimmnet sim subnet` with programs from outside share. Sourced behind live.bash.
cd "$live_work" || exit

subnet_leave()
{
    live_skip "$1" "$2"
    live_pass 'nothing else to do'
    live_finish
    exit
}

# subnet_needs NAME PROGRAM...: ends the test with a word if something is missing.
subnet_needs()
{
    local name=$1 program library
    shift
    library=$(ls /usr/lib/*/umad2sim/libumad2sim.so 2>/dev/null | head -n 1)
    if [ -z "$library" ]; then
        subnet_leave "$name" 'umad2sim is missing (package libumad2sim0)'
    fi
    for program in "$@"; do
        if ! command -v "$program" >/dev/null; then
            subnet_leave "$name" "$program is missing (packages opensm, infiniband-diags)"
        fi
    done
    subnet_library=$library
}

# subnet_start SHAPE [option...]: serves a subnet; "attached" then runs programs on it.
subnet_start()
{
    local line
    subnet_name=live-$$-$RANDOM
    rm -f orders answers
    mkfifo orders answers
    "$live_dimmnet" sim subnet "$@" --socket "$subnet_name" --console <orders >answers 2>said &
    subnet_pid=$!
    exec {subnet_in}>orders {subnet_out}<answers
    while read -t 20 -r line <&"$subnet_out"; do
        [ "$line" != Ready. ] || return 0
    done
    echo "the server did not start: $(cat said)"
    return 1
}

# subnet_order WORD...: gives an order and prints its answer.
subnet_order()
{
    local answer
    echo "$*" >&"$subnet_in"
    read -t 20 -r answer <&"$subnet_out" && echo "$answer"
}

# Ends the server as Ctrl-C does; its status is 0.
subnet_stop()
{
    kill -INT "$subnet_pid" && wait "$subnet_pid"
}

# attached HOST PROGRAM...
attached()
{
    local host=$1
    shift
    mkdir -p "osm-$host"
    attached_as=()
    [ "${BASHPID}" = $$ ] || attached_as=(exec)
    "${attached_as[@]}" env LD_PRELOAD="$subnet_library" IBSIM_SOCKNAME="$subnet_name" SIM_HOST="$host" \
        OSM_TMP_DIR="$live_work/osm-$host" OSM_CACHE_DIR="$live_work/osm-$host" "$@"
}

# opensm_start HOST LOG [option...]: leaves its process in $opensm_pid. -d 2: its log is written at
# once.
opensm_start()
{
    local host=$1 log=$2
    shift 2
    rm -f "$log"
    # The shell that would be between is gone, so that $! is OpenSM's own process.
    (attached "$host" opensm -d 2 -f "$live_work/$log" "$@" </dev/null >"$log.out" 2>&1) &
    opensm_pid=$!
}

# log_has LOG COUNT TEXT: the text is there at least so often.
log_has() { [ -e "$1" ] && [ "$(grep -c -- "$3" "$1")" -ge "$2" ]; }

opensm_stop()
{
    kill "$1" 2>/dev/null
    wait "$1" 2>/dev/null
    return 0
}

# The address of a node, as its ways end.
lid_of()
{
    local from=board-0
    [ "$1" != board-0 ] || from=board-1
    subnet_order way "$from" "$1" | sed -n 's/.*(LID \([0-9]*\)):.*/\1/p'
}

# trace_is_the_way FROM TO: ibtracert finds the way that the tables have.
trace_is_the_way()
{
    local way trace
    way=$(subnet_order way "$1" "$2" | sed 's/^[^:]*: //')
    attached "$1" ibtracert "$(lid_of "$1")" "$(lid_of "$2")" >trace 2>trace.err ||
        { cat trace.err; return 1; }
    # Each line but the last names a node; the next one begins with the port that it is left by.
    trace=$(python3 - trace <<'END'
import re, sys
way, name = [], None
for line in open(sys.argv[1]):
    port = re.match(r"\[(\d+)\]", line)
    if port and name:
        way.append(f"{name}[{port[1]}]")
    quoted = re.search(r'"([^"]*)"', line)
    name = quoted[1] if quoted else name
print(*way)
END
    )
    [ "$way" = "$trace" ] || { echo "$1 to $2: way $way, ibtracert $trace"; return 1; }
}
