#!/usr/bin/env bash
# OpenSM, as it is, brings simulated subnets up, and ibnetdiscover finds what is there.
# usage: sim_subnet_up.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"
# shellcheck source=subnet.bash
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/subnet.bash"
subnet_needs 'OpenSM on a simulated subnet' opensm ibnetdiscover

# links FILE: every end of a cable as ibnetdiscover writes it, with names, in order.
links()
{
    python3 - "$1" <<'END'
import re, sys
names, ends, node = {}, set(), None
for line in open(sys.argv[1]):
    head = re.match(r'(Switch|Ca)\s+(\d+) "([^"]+)"\s+# "([^"]*)"', line)
    end = re.match(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"([^"]+)"\[(\d+)\]', line)
    if head:
        node = head[3]
        names[node] = f"{head[1]} {head[2]} {head[4]}"
    elif end:
        ends.add((node, int(end[1]), end[2], int(end[3])))
for end in sorted((names[a], p, names[b], q) for a, p, b, q in ends):
    print(*end)
END
}

comes_up()
{
    local shape=$1
    live_alone "$live_dimmnet" sim subnet "$shape" -- opensm -o -f "$live_work/log"
    [ "$status" -eq 0 ] || { echo "status $status"; cat err; return 1; }
    grep -q 'SUBNET UP' log || { echo 'no SUBNET UP'; tail -n 3 log; return 1; }
    ! grep -E ' ERR ' log && [ ! -s err ] || return 1
    rm log
}

is_found_as_it_is()
{
    local shape=$1
    "$live_dimmnet" sim subnet "$shape" --write wanted >/dev/null || return 1
    live_alone "$live_dimmnet" sim subnet "$shape" -- ibnetdiscover
    [ "$status" -eq 0 ] || { cat err; return 1; }
    links out >found && links wanted >there && [ -s found ] && diff found there | head -n 5 &&
        cmp -s found there
}

# A subnet that was found can be simulated again.
what_is_found_can_be_read()
{
    live_alone "$live_dimmnet" sim subnet fat-tree:16 -- ibnetdiscover
    cp out found.topo
    live_alone "$live_dimmnet" sim subnet found.topo --manager builtin --write again.topo
    [ "$status" -eq 0 ] && links again.topo >again && links found.topo >found && cmp again found
}

ways_are_written()
{
    live_alone "$live_dimmnet" sim subnet ring:8 --paths --trace board-0,switch-3 --write with.topo \
        -- opensm -o -f "$live_work/log"
    [ "$status" -eq 0 ] && [ "$(grep -c '^board-[0-9] to board-[0-9] (LID [0-9]*): ' out)" -eq 56 ] &&
        grep -q '^board-0 to switch-3 (LID' out && grep -q '"board-3" lid [1-9]' with.topo
}

routing_engines_work()
{
    local engine shape
    for engine in minhop updn dor lash dfsssp; do
        rm -f log
        # updn looks for roots, which a ring does not have.
        [ "$engine" = updn ] && shape=fat-tree:16 || shape=ring:8
        live_alone "$live_dimmnet" sim subnet "$shape" -- opensm -o -R "$engine" -Q \
            -f "$live_work/log"
        grep -q "$engine tables configured on all switches" log && grep -q 'SUBNET UP' log ||
            { echo "$engine"; tail -n 5 log; return 1; }
    done
}

for shape in ring:8 fat-tree:64 torus:4x4 random:20 switch:8 random:1000,ports=24; do
    live_verdict "OpenSM brings $shape up" comes_up "$shape"
    live_verdict "ibnetdiscover finds $shape" is_found_as_it_is "$shape"
done
live_verdict 'what ibnetdiscover finds can be simulated' what_is_found_can_be_read
live_verdict 'ways and addresses are written in the end' ways_are_written
live_verdict "OpenSM's routing engines work, with service levels" routing_engines_work
live_verdict 'nothing remains' live_nothing_remains
live_finish
