#!/usr/bin/env bash
# fuzz.sh BUILD: every fuzz target for FUZZ_SECONDS (60).
exec "$(dirname "$0")/../../scripts/fuzz" "${FUZZ_SECONDS:-60}"
