#!/usr/bin/env bash
# The pages of `dimmnet sim`, as a browser shows them: on a phone and on a desk.
# usage: sim_page.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
live_examples=$(cd "$(dirname "$0")/../../../examples/sim" && pwd)
cd "$live_work" || exit

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -z "$browser" ]; then
    live_skip "pages in a browser" "no Chromium here"
    live_pass "nothing else to do"
    live_finish
    exit
fi

# browse WIDTH OPTION... PAGE: prints what the browser prints; its complaints go to the file `log`.
browse()
{
    local width=$1
    shift
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$live_work/browser" --window-size="$width,1600" \
        --enable-logging=stderr --v=0 "$@" 2>log
}

# A page's title says how wide it came out.
measured()
{
    sed 's|</body>|<script>document.title=document.documentElement.scrollWidth+" of "+innerWidth</script></body>|' \
        "$1" >"measured-$1"
}

# One start of the browser gives text and picture, because starting takes most of the time.
is_shown_well()
{
    local page=$1 width
    measured "$page"
    for width in 360 1200; do
        browse "$width" --dump-dom --screenshot="$live_work/$width.png" \
            "file://$live_work/measured-$page" >dom || return 1
        if grep -q 'CONSOLE' log; then
            grep CONSOLE log
            return 1
        fi
        python3 - "$width" <<'END' || return 1
import re, sys
dom = open("dom").read()
wide, window = map(int, re.search(r"<title>(\d+) of (\d+)</title>", dom).groups())
assert wide <= window, (wide, window, sys.argv[1])
END
    done
    [ "$(wc -c <360.png)" -gt 5000 ] || { echo "an empty picture"; return 1; }
}

# Nothing is fetched from elsewhere.
is_self_contained()
{
    ! grep -E '(src|href)=|url\(|@import|https?://' "$1"
}

a_study_is_a_page()
{
    "$live_dimmnet" sim study barrier --max-nodes 64 --csv --html study.html >figures || return 1
    is_self_contained study.html && is_shown_well study.html || return 1
    python3 - <<'END'
import csv
import re
dom = open("dom").read()
rows = list(csv.DictReader(open("figures")))
assert len(rows) == 24, len(rows)
for row in rows:
    assert ">%s</td>" % row["ns"] in dom, row
charts = re.findall('<figure class="chart">.*?</figure>', dom, re.S)
assert len(charts) == 2 and dom.count("<circle") >= 24
for chart in charts:  # the key names what is there to be seen
    key = re.findall('</svg>([^<]*)</span>', chart)
    assert key and set(key) == set(re.findall('<title>(.*?): ', chart)), key
END
}

the_papers_are_a_page()
{
    "$live_dimmnet" sim papers --json --html papers.html >figures || return 1
    is_self_contained papers.html && is_shown_well papers.html || return 1
    python3 - <<'END'
import json
dom = open("dom").read()
cells = [json.loads(line) for line in open("figures") if line.startswith("{")]
for cell in cells:
    if cell["sim"] is not None:
        assert ">%.2f</td>" % cell["sim"] in dom, cell
        assert ">%s</td>" % cell["kind"] in dom, cell
assert "missed" not in dom
# Two charts of what was predicted, a point for each, and the diagonal between its lines of 10 %.
charts = dom.split('<figure class="chart">')[1:]
assert len(charts) == 3, len(charts)
predicted = sum(cell["kind"] == "predicted" for cell in cells)
assert sum(chart.count("<circle") for chart in charts[:2]) == predicted > 30, predicted
assert all(chart.count("<path") == 3 and "+10 %" in chart for chart in charts[:2])
# The last one has the errors of all cells, the worst included.
assert charts[2].count("<circle") == sum(cell["error_pct"] is not None for cell in cells)
END
}

# Every figure of the sweep, both charts, and each link with its load.
a_network_is_a_page()
{
    local examples=$live_examples
    "$live_dimmnet" sim net "$examples/ring-8.ini" --sweep --csv --html net.html >figures || return 1
    is_self_contained net.html && is_shown_well net.html || return 1
    python3 - <<'END' || return 1
import csv
dom = open("dom").read()
rows = list(csv.DictReader(open("figures")))
assert len(rows) == 14, len(rows)
for row in rows:
    assert ">%s</td>" % row["accepted"] in dom and ">%s</td>" % row["mean_cycles"] in dom, row
    assert ">%s</td>" % row["outcome"] in dom, row
assert dom.count('<figure class="chart">') == 2
network = dom[dom.index('<figure class="network">'):]
assert network[:network.index("</figure>")].count("<line ") == 16
assert "% of the bound" in dom
END
    "$live_dimmnet" sim net "$examples/torus-8x8.ini" --html torus.html >figures &&
        is_shown_well torus.html && [ "$(grep -c '<line x1' torus.html)" -eq 256 ] || return 1
    ! "$live_dimmnet" sim net "$examples/broken-ring.ini" --html broken.html >figures &&
        is_shown_well broken.html && grep -q '<h2>Deadlock</h2>' dom && grep -q 'waits for router' dom
}

# Shapes of all sorts, each direction of each cable, and a circle of packets that wait.
a_subnet_is_a_page()
{
    local sample=$live_build/tests/tools/subnet_page_sample shape
    for shape in switch:8 ring:8 torus:4x4 fat-tree:64 random:20; do
        "$sample" "$shape" 0.1 up-down 4 subnet.html >figures && grep -q done figures &&
            is_self_contained subnet.html && is_shown_well subnet.html || return 1
    done
    "$sample" ring:8x2 0.9 min-hop 1 circle.html >figures && grep -q deadlocked figures &&
        is_shown_well circle.html || return 1
    python3 - <<'END'
dom = open("dom").read()
assert dom.count('class="cable"') == 48 and dom.count(' % busy, ') == 48
assert dom.count('class="switch"') == 8 and dom.count('class="board"') == 16
assert dom.count('class="circle"') == 8 and "<h2>Deadlock</h2>" in dom
END
}

# Few nodes and more than a picture shows: a track for each, all stages, the matrix.
a_program_is_a_page()
{
    local nodes
    for nodes in 2 66; do
        rm -f report
        DN_TEST_SEED=1 DN_SIM_REPORT=0 live_group --fabric sim:dimmnet1-D -n "$nodes" \
            --json report --html program.html "$live_programs/sim_program_mix"
        [ "$status" -eq 0 ] && is_self_contained program.html && is_shown_well program.html || return 1
        python3 - "$nodes" <<'END' || return 1
import json, re, sys
nodes = int(sys.argv[1])
shown = min(nodes, 64)
r = json.load(open("report"))
dom = open("dom").read()
figures = dict(re.findall(r'<figure class="(\w+)">(.*?)</figure>', dom, re.S))
track = figures["timeline"]
rows = {round(float(y), 2) for y in re.findall(r'<rect fill="[^"]*" x="26.00" y="([0-9.]+)"', track)}
assert len(rows) >= shown, (len(rows), shown)
assert ("the first 64" in track) == (nodes > 64)
labels = re.findall(r'text-anchor="end">(\d+)</text>', track)
assert labels and len(labels) <= 16 and labels[0] == "0", labels
assert all(name in track for name in ("computed", "stored, polled and asked", "waited"))
pairs = [t for t in r["traffic"] if t["from"] < shown and t["to"] < shown]
assert figures["matrix"].count("<rect ") == len(pairs) > 0
assert dom.count("<h2>") == 4 and ">write into LLCM</td>" in dom
assert ">%s</td>" % r["links"][0]["where"] in dom
END
    done
}

a_page_that_cannot_be_written_is_told()
{
    ! "$live_dimmnet" sim papers --json --html no/such/folder/page.html >/dev/null 2>err &&
        grep -q 'no/such/folder/page.html: No such file' err
}

live_verdict "a study is a page" a_study_is_a_page
live_verdict "the papers are a page" the_papers_are_a_page
live_verdict "a network is a page" a_network_is_a_page
live_verdict "a subnet is a page" a_subnet_is_a_page
live_verdict "a program is a page" a_program_is_a_page
live_verdict "a page that cannot be written is told" a_page_that_cannot_be_written_is_told
live_finish
