#!/usr/bin/env bash
# Thousands of nodes killed at random moments: the same test as in `make test`, for longer.
# usage: kills.sh BUILD_FOLDER; DN_SOAK_KILLS is how many (2000).
set -u
DN_TEST_KILLS=${DN_SOAK_KILLS:-2000} exec "$(dirname "$0")/../live/library/faults.sh" "$1"
