#!/usr/bin/env bash
# `dimmnet sim machines` and `dimmnet sim show`. usage: sim_machines.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
cd "$live_work" || exit

# sim WORD...: runs it to its end; leaves out, err and $status.
sim() { live_alone "$live_dimmnet" sim "$@"; }

ended_with() { [ "$status" -eq "$1" ] || { echo "status $status, not $1"; cat err; return 1; }; }

# refused TEXT: status 2, nothing on standard output, and one line that has the text.
refused()
{
    ended_with 2 && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$1" err ||
        { echo "not \"$1\" but: $(cat err)"; return 1; }
}

words_are_checked()
{
    sim
    refused 'dimmnet sim: no command given; see dimmnet sim --help' || return 1
    sim bogus
    refused 'dimmnet sim: unknown command "bogus"' || return 1
    sim machines --bogus
    refused 'dimmnet sim machines: there is no option "--bogus"' || return 1
    sim machines dimmnet2
    refused 'dimmnet sim machines: "dimmnet2" is one word too many' || return 1
    sim show
    refused 'dimmnet sim show: a machine is needed' || return 1
    sim show dimmnet2 dimmnet2
    refused 'one word too many' || return 1
    sim show dimmnet9
    refused 'dimmnet sim show: there is no machine "dimmnet9"' || return 1
    local words
    for words in '' machines show; do
        # shellcheck disable=SC2086 # none or one
        sim $words --help
        ended_with 0 && grep -q '^usage: dimmnet sim' out && [ ! -s err ] || return 1
    done
    "$live_dimmnet" --help | grep -q '^  sim '
}

all_are_listed()
{
    sim machines
    ended_with 0 || return 1
    local name
    for name in dimmnet1-{A,B,C,D,E,F,design,bdais} rhinet2-ni dimmnet2 fagus-p3 switch-oip; do
        grep -qE "^  $name +[^ ]" out || { echo "no $name"; return 1; }
    done
    sim machines --json
    ended_with 0 && python3 - <<'END'
import json
told = [json.loads(line) for line in open("out")]
assert len([each for each in told if not each["part"]]) == 14, told
assert all(each["text"] for each in told), told
END
}

all_can_be_shown()
{
    local name
    sim machines
    for name in $(sed -n 's/^  \([^ ]*\).*/\1/p' out); do
        sim show "$name"
        ended_with 0 && grep -q "^$name: " out || { echo "$name"; return 1; }
    done
    sim show dimmnet1-A
    grep -qE '^clock +dimm_mhz +66\.6667 +host-p3-dimm66\.ini +paper 000, Table 3' out &&
        grep -qE '^software +turn_ns +[0-9.]+ +martini\.ini +fitted on ' out || return 1
    # A table: all sources begin below the word.
    awk '/^section/ { at = index($0, "source") }
        at && (substr($0, at - 1, 1) != " " || substr($0, at, 1) == " ") { print; wrong = 1 }
        END { exit wrong || !at }' out
}

a_file_of_three_lines()
{
    printf '[machine]\ninherit = dimmnet1-D\n[clock]\nswif_mhz = 50 | a "what if" \\ of mine\n' >mine.ini
    sim show mine.ini --json
    ended_with 0 && python3 - <<'END' || return 1
import json
told = {(each["section"], each["key"]): each for each in map(json.loads, open("out"))}
swif = told["clock", "swif_mhz"]
assert swif["value"] == 50 and swif["file"] == "mine.ini", swif
assert swif["source"] == 'a "what if" \\ of mine' and swif["basis"] == "stated", swif
assert told["host", "read_ns"]["value"] == 173 and told["software", "turn_ns"]["basis"] == "fitted"
assert told["clock", "nic_mhz"]["source"] is None and told["tlb", "refill"]["value"] == "core"
assert all(each["machine"] == "mine" and each["help"] for each in told.values())
END
    # By a path, from another folder; and one that inherits from it, relative to itself.
    mkdir -p deep
    printf '[machine]\ninherit = ../mine.ini\n[host]\nwrite_ns = 1 | x\n' >deep/more.ini
    sim show "$live_work/deep/more.ini"
    ended_with 0 && grep -qE '^clock +swif_mhz +50 ' out && grep -qE '^host +write_ns +1 ' out
}

errors_name_file_line_and_key()
{
    printf '[machine]\ninherit = dimmnet1-D\n[clock]\n\ndimm_mhz = -66 | x\n' >wrong.ini
    sim show wrong.ini
    refused 'dimmnet sim show: wrong.ini:5: [clock] dimm_mhz: "-66" is negative' || return 1
    printf '[machine]\ninherit = martini\n' >wrong.ini
    sim show ./wrong.ini
    refused './wrong.ini:2: [clock] dimm_mhz: it is missing' || return 1
    printf '[machine]\ninherit = wrong.ini\n' >wrong.ini
    sim show wrong.ini
    refused 'wrong.ini:2: [machine] inherit: a circle: wrong.ini inherits from wrong.ini' || return 1
    sim show gone.ini
    refused 'cannot read gone.ini: No such file or directory' || return 1
    sim show .
    refused 'there is no machine "."' || return 1
    sim show ./
    refused '' || return 1
    head -c 5000 "$live_dimmnet" >wrong.ini
    sim show wrong.ini
    refused 'wrong.ini:1: this is no text'
}

the_output_has_to_arrive()
{
    [ -w /dev/full ] || return 0
    "$live_dimmnet" sim show dimmnet2 >/dev/full 2>err
    [ $? -eq 1 ] && grep -q 'cannot write standard output' err
}

live_verdict "words that make no sense" words_are_checked
live_verdict "all machines are listed" all_are_listed
live_verdict "all machines can be shown" all_can_be_shown
live_verdict "a file of three lines" a_file_of_three_lines
live_verdict "errors name file, line and key" errors_name_file_line_and_key
live_verdict "the output has to arrive" the_output_has_to_arrive
live_finish
