#!/usr/bin/env bash
# faults.sh BUILD: the fault run for DN_SOAK_MINUTES (10); see faults/run.py.
exec "$(dirname "$0")/faults/run.py" "$1" --minutes "${DN_SOAK_MINUTES:-10}"
