# shellcheck shell=bash
# What the tests of programs on simulated machines share, beside live.bash, which it sources; $1 is
# the build folder.
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "${BASH_SOURCE[0]}")/../live.bash"
cd "$live_work" || exit
unset DN_FABRIC
export DN_SIM_REPORT=0 DN_TEST_SEED=1

# on MACHINE[,SETTING...] OPTION... PROGRAM ARGUMENT...: leaves out, err, $status and the report.
on()
{
    local words=$1
    shift
    rm -f report
    live_group --timeout 100 --fabric "sim:$words" --json report "$@"
}

ended_with() { [ "$status" -eq "$1" ] || { echo "status $status, not $1: $(cat err)"; return 1; }; }

# reported EXPRESSION: of the last report, which is r.
reported() { python3 -c "import json; r = json.load(open('report')); print($1)"; }

reports() { [ "$(reported "$1")" = "$2" ] || { echo "$1 is $(reported "$1"), not $2"; return 1; }; }
