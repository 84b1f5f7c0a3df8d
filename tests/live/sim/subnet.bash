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
    exec {subnet_in}>&-
    kill -INT "$subnet_pid" && wait "$subnet_pid"
}

# attached HOST PROGRAM...: for at most 30 s.
attached()
{
    subnet_environment "$1"
    shift
    timeout -k 5 30 env "${subnet_variables[@]}" "$@"
}

subnet_environment()
{
    mkdir -p "osm-$1"
    subnet_variables=(LD_PRELOAD="$subnet_library" IBSIM_SOCKNAME="$subnet_name" SIM_HOST="$1"
        OSM_TMP_DIR="$live_work/osm-$1" OSM_CACHE_DIR="$live_work/osm-$1")
}

# opensm_start HOST LOG [option...]: leaves its process in $opensm_pid. Its log is written at once,
# and as a second manager it looks for the first every 500 ms.
opensm_start()
{
    local host=$1 log=$2
    shift 2
    printf 'force_log_flush TRUE\nsminfo_polling_timeout 500\npolling_retry_number 2\n' >conf
    : >"$log"
    subnet_environment "$host"
    env "${subnet_variables[@]}" opensm -F "$live_work/conf" -f "$live_work/$log" "$@" \
        </dev/null >"$log.out" 2>&1 &
    opensm_pid=$!
}

# log_has LOG COUNT TEXT: the text is there at least so often.
log_has() { [ "$(grep -c -- "$3" "$1" 2>/dev/null)" -ge "$2" ]; }

# Ends one of the test's own processes, at once if it does not end by itself.
opensm_stop()
{
    local i
    kill "$1" 2>/dev/null
    for ((i = 0; i < 100; i++)); do
        kill -0 "$1" 2>/dev/null || break
        sleep 0.05
    done
    kill -KILL "$1" 2>/dev/null
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
    trace=$(awk 'NR > 1 && /^\[/ { split($1, out, /[][]/); printf("%s%s[%s]", NR > 2 ? " " : "", name, out[2]) }
                 { name = $0; sub(/^[^"]*"/, "", name); sub(/".*/, "", name) }' trace)
    [ "$way" = "$trace" ] || { echo "$1 to $2: way $way, ibtracert $trace"; return 1; }
}
