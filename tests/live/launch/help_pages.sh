#!/usr/bin/env bash
# Every option that a command's --help names is in its man page, and the other way round; so is every
# study.
# usage: help_pages.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
pages=$(cd "$(dirname "$0")/../../../man" && pwd)

# The options in the help of a command, except --help itself.
in_help()
{
    "$live_dimmnet" "$@" --help | grep -E '^  -' |
        grep -oE '^  (-[a-zA-Z])?(, )?(--[a-z-]+)?' | grep -oE -- '--?[a-zA-Z][a-z-]*' |
        grep -vxE -- '-h|--help' | sort
}

# in_page PAGE SECTION: the options that have an entry in that section of the page.
in_page()
{
    awk -v section="$2" '/^\.S[hs] / { inside = $2 == section } inside && /^\.It Fl/' \
        "$pages/$1" | grep -oE 'Fl [^ ]+' | sed 's/Fl /-/' | grep -vxE -- '-h|--help' | sort
}

# agree PAGE SECTION COMMAND...
agree()
{
    local page=$1 section=$2
    shift 2
    in_help "$@" >"$live_work/help"
    in_page "$page" "$section" >"$live_work/page"
    [ -s "$live_work/help" ] && diff "$live_work/help" "$live_work/page" ||
        { echo "< in dimmnet $* --help alone, > in $page alone"; return 1; }
}

# The page has an entry for each study, and for no other.
studies_agree()
{
    "$live_dimmnet" sim study --list | grep -oE '^[a-z]+:' | tr -d : | sort >"$live_work/help"
    awk '/^\.S[hs] / { inside = $2 == "study" } inside && /^\.It Cm/' "$pages/dimmnet-sim.1" |
        sed 's/^\.It Cm //; s/ , /\n/g' | sort >"$live_work/page"
    [ -s "$live_work/help" ] && diff "$live_work/help" "$live_work/page" ||
        { echo "< in dimmnet sim study --list alone, > in dimmnet-sim.1 alone"; return 1; }
}

for command in run perf info board; do
    live_verdict "dimmnet $command" agree "dimmnet-$command.1" DESCRIPTION "$command"
done
# A build may lack the simulator.
if "$live_dimmnet" --help | grep -q '^  sim '; then
    live_verdict "dimmnet storm" agree dimmnet-storm.1 DESCRIPTION storm
    for command in goal machines show run papers study net; do
        live_verdict "dimmnet sim $command" agree dimmnet-sim.1 "$command" sim "$command"
    done
    live_verdict "the studies" studies_agree
fi
live_finish
