#!/usr/bin/env bash
# `dimmnet perf` as a command: words that make no sense, and on either fabric a row with all that it
# promises. Speed does not matter here. usage: perf.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

unset DN_FABRIC DN_RELAX

perf()
{
    live_alone "$live_dimmnet" perf "$@"
}

# refused PATTERN WORD...: status 2, one line like it, no output.
refused()
{
    local pattern=$1
    shift
    perf "$@"
    if [ "$status" -ne 2 ] || [ -s "$live_work/out" ] || [ "$(wc -l <"$live_work/err")" -ne 1 ] ||
        ! grep -qE -- "^dimmnet perf: .*$pattern" "$live_work/err"; then
        echo "case: $*; status $status, not 2 and one line like: $pattern"
        cat "$live_work/err"
        return 1
    fi
}

bad_words_are_refused()
{
    refused 'there is no test "wings"' wings &&
        refused 'there is no option "--wings"' --wings &&
        refused '--fabric takes one of mem, udp, not "tin"' aotf --fabric tin &&
        refused '--fabric needs a value' aotf --fabric &&
        refused '-n takes a number of nodes' barrier -n 1 &&
        refused 'token is not for --fabric udp' aotf token --fabric udp &&
        refused 'for --fabric udp only' aotf --no-auth &&
        refused 'for --fabric udp only' aotf --encrypt --fabric mem &&
        refused 'choose one' aotf --fabric udp --no-auth --encrypt &&
        DN_FABRIC=udp refused 'token is not for --fabric udp' token
}
live_verdict "words that make no sense are refused" bad_words_are_refused

# row PATTERN WORD...: one matching JSON object, with plausible numbers.
row()
{
    local pattern=$1
    shift
    perf "$@" --json
    [ "$status" -eq 0 ] || { echo "case: $*; status $status"; cat "$live_work/err"; return 1; }
    python3 - "$live_work/out" "$pattern" <<'END'
import json, sys
lines = open(sys.argv[1]).read().splitlines()
row = json.loads(lines[0])
wanted = dict(pair.split("=") for pair in sys.argv[2].split())
assert len(lines) == 1, lines
assert all(str(row.get(name, "")) == value for name, value in wanted.items()), row
assert all(row[name] > 0 for name in ("rtt_ns", "p99_ns", "raw_ns", "ratio", "triples")), row
END
}

rows_say_what_was_measured()
{
    row 'test=aotf nodes=2 bytes=8 fabric=udp protection=authenticated' aotf --fabric udp &&
        row 'test=aotf protection=encrypted' aotf --fabric udp --encrypt &&
        row 'test=aotf protection=none' aotf --fabric udp --no-auth
}
live_verdict "a row on udp says how packets are protected" rows_say_what_was_measured

live_verdict "the environment chooses the fabric" \
    env DN_FABRIC=udp bash -c "$(declare -f perf live_alone row)
        live_dimmnet='$live_dimmnet' live_work='$live_work'
        row 'test=aotf fabric=udp' aotf"

live_verdict "nothing remains" live_nothing_remains
live_finish
