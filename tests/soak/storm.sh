#!/usr/bin/env bash
# storm.sh BUILD: 200,000 scenarios of everything at once, and thousands of each fault alone.
# STORM_FIRST moves to other seeds.
set -euo pipefail

first=${STORM_FIRST:-0}
"$1/dimmnet" storm --seeds "$first..$((first + 199999))"
for scenario in calm loss burst duplicate reorder corrupt delay partition pause crash evict full \
    skew stranger; do
    "$1/dimmnet" storm --scenario "$scenario" --seeds "$first..$((first + 4999))"
done
for study in goodput incast cache state; do
    "$1/dimmnet" storm --scenario "$study"
done
