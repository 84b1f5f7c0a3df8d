#!/usr/bin/env bash
# Every example runs as its own comment says, and ends well. usage: examples.sh BUILD_FOLDER
# shellcheck source-path=SCRIPTDIR source=../live.bash
. "$(dirname "$0")/../live.bash"

# runs NODES NAME
runs()
{
    live_group -n "$1" --timeout 60 "$live_build/examples/$2"
    if [ "$status" -ne 0 ]; then
        echo "status $status"
        return 1
    fi
    live_nothing_remains
}

live_verdict "hello" runs 2 hello
live_verdict "ring" runs 2 ring
live_verdict "queue" runs 3 queue
live_verdict "stencil" runs 4 stencil
live_verdict "publish" runs 3 publish
live_finish
