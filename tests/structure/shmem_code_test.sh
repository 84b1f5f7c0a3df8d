#!/usr/bin/env bash
# The short calls of OpenSHMEM stay short: usage shmem_code_test.sh BUILD_FOLDER, of an
# optimised x86-64 build. Between entry and return lie two range checks, the access and a
# look at the call word; no call, and nothing on the stack, which a locked instruction after
# it would wait for.
set -euo pipefail

library=$1/libdimmnet-shmem.so
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
objdump -d --no-show-raw-insn "$library" >"$folder/code"
faults=0

# The instructions of a function from its entry to its first return.
fast_path()
{
    awk -v name="<$1>:" '$2 == name { inside = 1; next }
        inside && NF > 1 { sub(/^[^\t]*\t/, ""); print; if (/^ret/) exit }' "$folder/code"
}

# check FUNCTION INSTRUCTIONS BANNED
check()
{
    local code count
    code=$(fast_path "$1")
    count=$(grep -c . <<<"$code" || true)
    if [ "$count" -eq 0 ] || [ "$count" -gt "$2" ] || grep -Eq "$3" <<<"$code"; then
        printf '%s: %s instructions, at most %s wanted, none of them %s:\n%s\n' "$1" "$count" \
            "$2" "$3" "$code"
        faults=$((faults + 1))
    fi
}

check pshmem_uint64_p 24 '^(call|push|lock|mfence)'
check pshmem_ctx_uint64_p 28 '^(call|push|lock|mfence)'
check pshmem_uint64_g 22 '^(call|push|lock|mfence)'
check pshmem_uint64_atomic_fetch_add 26 '^(call|push|mfence)'
check pshmem_uint64_atomic_compare_swap 28 '^(call|push|mfence)'
check pshmem_uint64_put 48 '^(call|lock|mfence)'
[ "$faults" -eq 0 ]
