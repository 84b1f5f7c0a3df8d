#!/usr/bin/env bash
# `dimmnet sim study`: rows that are the same with any number of jobs, in three formats.
# usage: sim_study.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
cd "$live_work" || exit

study() { live_alone "$live_dimmnet" sim study "$@"; }

ended_with() { [ "$status" -eq "$1" ] || { echo "status $status, not $1"; cat err; return 1; }; }

# refused TEXT: nothing on standard output, and one line that has the text.
refused()
{
    ended_with 2 && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -qF -- "$1" err ||
        { echo "not \"$1\" but: $(cat err)"; return 1; }
}

words_are_checked()
{
    study
    refused 'no study is named' || return 1
    study bogus
    refused 'there is no study "bogus"' || return 1
    study barrier sum
    refused '"sum" is one word too many' || return 1
    study barrier --bogus
    refused 'there is no option "--bogus"' || return 1
    study barrier --jobs
    refused '--jobs needs a value' || return 1
    study barrier --jobs 0
    refused '--jobs takes a number from 1 to 256' || return 1
    study barrier --max-nodes 65535
    refused '--max-nodes takes a number from 2 to 65534' || return 1
    study barrier --topology switch
    refused '--topology takes one of tree, fat-tree, not ' || return 1
    study barrier --machine dimmnet9
    refused 'there is no machine "dimmnet9"' || return 1
    study contexts --max-nodes 2
    refused 'contexts has no point with 2 nodes or fewer' || return 1
    study --help
    ended_with 0 && grep -q '^usage: dimmnet sim study' out
}

lists_name_studies_and_columns()
{
    study --list
    ended_with 0 && grep -q '^barrier: ' out && grep -q '^sum: ' out && grep -q '^contexts: ' out &&
        grep -q '^  predicted_ns  *[a-z]' out && grep -q '^  hit_share  *[a-z]' out
}

jobs_do_not_matter()
{
    local name format
    for name in barrier sum contexts loss; do
        for format in '' --csv --json; do
            # shellcheck disable=SC2086
            study "$name" --max-nodes 70 --jobs 1 $format
            ended_with 0 && [ ! -s err ] && mv out one || return 1
            # shellcheck disable=SC2086
            study "$name" --max-nodes 70 --jobs 3 $format
            ended_with 0 && cmp out one || { echo "$name $format"; return 1; }
        done
    done
}

# The same figures in all formats; a team's work takes longer the larger the team is.
formats_agree()
{
    study barrier --max-nodes 64 --csv && ended_with 0 && mv out csv &&
        study barrier --max-nodes 64 --json && ended_with 0 && mv out json &&
        study barrier --max-nodes 64 && ended_with 0 && python3 - <<'END'
import csv, json
rows = list(csv.DictReader(open("csv")))
objects = [json.loads(line) for line in open("json")]
table = [line.split() for line in open("out")][2:]
assert table[0] == list(rows[0]) == list(objects[0]), table[0]
assert len(rows) == len(objects) == len(table) - 1 == 6 * 4
for row, of, cells in zip(rows, objects, table[1:]):
    assert None not in row and len(cells) == len(row)
    for (name, text), cell in zip(row.items(), cells):
        assert cell == (text or "-"), (name, text, cell)
        assert of[name] is None if text == "" else str(of[name]) == text or float(text) == of[name]
times = {(row["kind"], int(row["nodes"])): float(row["ns"]) for row in rows}
for kind in ["host", "host+multicast", "nic", "nic+near"]:
    for nodes in [2, 4, 8, 16, 32]:
        assert times[kind, nodes] < times[kind, 2 * nodes], (kind, nodes)
assert times["host+multicast", 64] < times["host", 64] < times["nic", 64]
assert all((row["predicted_ns"] != "") == (row["kind"] == "host+multicast") for row in rows)
END
}

contexts_hit_while_there_are_enough()
{
    study contexts --max-nodes 300 --json && ended_with 0 && python3 - <<'END'
import json
rows = [json.loads(line) for line in open("out")]
assert len(rows) == 3 * 4 * 2
for row in rows:
    share = min(1, row["contexts"] / row["peers"])
    if row["order"] == "in turn":
        assert row["hit_share"] == (1 if share == 1 else 0), row
    else:
        assert abs(row["hit_share"] - share) < 0.05, row
    assert 1000 < row["latency_ns"] < 2000, row
END
}

machines_and_topologies_matter()
{
    study barrier --max-nodes 64 --csv && ended_with 0 && mv out tree &&
        study barrier --max-nodes 64 --csv --topology fat-tree && ended_with 0 && mv out fat &&
        study barrier --max-nodes 64 --csv --machine dimmnet1-design && ended_with 0 || return 1
    ! cmp -s tree fat && ! cmp -s tree out && grep -q ',fat-tree,' fat || return 1
    # There is no multicast where the switch has none.
    study barrier --max-nodes 4 --csv --machine dimmnet1-A
    ended_with 0 && ! grep -q multicast out && grep -q '^4,nic,' out
}

# Why all points fail is told once, and how many did.
a_point_that_fails_is_told()
{
    study contexts --machine dimmnet1-D --max-nodes 17 --csv
    ended_with 1 && [ "$(wc -l <out)" -eq 1 ] && [ "$(wc -l <err)" -eq 2 ] &&
        grep -q 'contexts: point 1 of 8 (17 nodes): dimmnet1-D: ' err &&
        grep -q 'contexts: 8 of 8 points failed$' err
}

# The key shows each series' line, and no two are alike; it names what the table has; and no mark of
# an axis is beyond the picture's edge (a digit is 6 units wide).
a_page_tells_series_apart()
{
    study banks --html page.html && ended_with 0 && python3 - <<'END'
import re
charts = re.findall('<figure class="chart">.*?</figure>', open("page.html").read(), re.S)
assert len(charts) == 3, len(charts)
for chart in charts:
    picture, key = chart.split('<div class="key">')
    line = r'stroke="(#\w+)" stroke-width="[\d.]+" stroke-dasharray="([^"]*)"'
    drawn = re.findall(line, picture)
    assert len(drawn) == 9 and len(set(drawn)) == len(drawn), drawn
    assert re.findall(line, key) == drawn, (re.findall(line, key), drawn)
    assert ">llcm+botf, 64 bytes<" in key and ", 0 switch_us" not in key, key
    for x, text in re.findall(r'<text x="([\d.]+)" y="\d+" text-anchor="middle">(\d+)<', picture):
        assert float(x) + 6 * len(text) / 2 <= 360, (x, text)
END
}

# The largest points take seconds each; by then all workers are busy.
a_signal_ends_it()
{
    local pid ended=0
    "$live_dimmnet" sim study barrier --jobs 3 --csv >out 2>err </dev/null &
    pid=$!
    live_eventually grep -q '^64,' out || { echo "no rows"; kill "$pid"; return 1; }
    kill -INT "$pid" 2>/dev/null || kill -TERM "$pid"
    # A shell without job control has its children ignore SIGINT.
    kill -TERM "$pid" 2>/dev/null
    wait "$pid" || ended=$?
    [ "$ended" -eq 130 ] || [ "$ended" -eq 143 ] || { echo "status $ended"; return 1; }
    live_eventually live_no_process && [ ! -s err ]
}

for name in words_are_checked lists_name_studies_and_columns jobs_do_not_matter formats_agree \
    contexts_hit_while_there_are_enough machines_and_topologies_matter a_point_that_fails_is_told \
    a_page_tells_series_apart a_signal_ends_it; do
    live_verdict "${name//_/ }" "$name"
done
live_finish
