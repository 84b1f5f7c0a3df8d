# shellcheck shell=bash
# What the tests of groups on several hosts share. Sourced by them after live.bash.
#
# All hosts are this one: the "remote shell" just drops the host's name.
# shellcheck disable=SC2034,SC2154 # names for those who source this, and from live.bash
unset DN_FABRIC
node=$live_programs/run_node
cd "$live_work" || exit

cat >rsh <<'END'
#!/bin/sh
shift
exec "$@"
END
chmod +x rsh
cat >three <<'END'
# three hosts
alpha slots=2 address=127.0.0.1
beta  slots=2 address=127.0.0.1
gamma address=127.0.0.1   # one
END
here=(--fabric udp --hosts three --rsh "$live_work/rsh")

expect_status()
{
    [ "$status" -eq "$1" ] || { echo "status $status, not $1"; return 1; }
}

expect_out()
{
    diff <(sort out) <(sort) >differences && return 0
    cat differences
    return 1
}

# The launcher said one line that matches.
expect_message()
{
    if [ "$(grep -c '^dimmnet run' err)" -ne 1 ] || ! grep -qE -- "$1" err; then
        echo "the launcher did not say one line like: $1"
        cat err
        return 1
    fi
}

# refused STATUS PATTERN OPTION...
refused()
{
    local wanted=$1 pattern=$2
    shift 2
    live_group "$@"
    if ! expect_status "$wanted" || ! expect_message "^dimmnet run.*$pattern" || [ -s out ]; then
        echo "case: $*"
        return 1
    fi
}

# Starts a group in the background as a job of its own, with no signal ignored (nohup and background
# shells ignore some); leaves $launcher.
start()
{
    rm -f out err
    set -m
    env --default-signal "$live_dimmnet" run "$@" >out 2>err </dev/null &
    launcher=$!
    set +m
}

finish()
{
    status=0
    wait "$launcher" || status=$?
}

lines_are() { [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]; }

# The agents, in the hosts' order; their guardians are their own children.
agents()
{
    local pid pids=()
    read -ra pids <"/proc/$launcher/task/$launcher/children" || true
    for pid in "${pids[@]}"; do
        if tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q 'dimmnet agent $'; then
            echo "$pid"
        fi
    done
}

agent_of() { agents | sed -n "$1p"; }
