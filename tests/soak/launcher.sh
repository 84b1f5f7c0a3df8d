#!/usr/bin/env bash
# The launcher killed at random moments, with nodes that have children of their own: no
# process of any of them remains. usage: launcher.sh BUILD_FOLDER; DN_SOAK_LAUNCHES is how
# many (500).
set -u
mark=DIMMNET_SOAK_MARK=$$
for ((i = 0; i < ${DN_SOAK_LAUNCHES:-500}; i++)); do
    env "$mark" "$1/dimmnet" run -n 3 sh -c 'sleep 100 & sleep 100; true' >/dev/null 2>&1 &
    launcher=$!
    sleep "0.0$((RANDOM % 100))"
    kill -KILL "$launcher" 2>/dev/null
    wait "$launcher" 2>/dev/null
    for ((try = 0; try < 200; try++)); do
        left=$(grep -lz "^$mark\$" /proc/[0-9]*/environ 2>/dev/null | wc -l)
        [ "$left" -eq 0 ] && break
        sleep 0.05
    done
    if [ "$left" -ne 0 ]; then
        echo "launch $i: $left processes remain"
        exit 1
    fi
done
echo "$i launchers killed, nothing remained"
