#!/usr/bin/env bash
# What the public headers leave behind for the program that includes them: the macros that are
# listed here, and no helpers of their own.
set -euo pipefail
cd "$(dirname "$0")/../.."

faults=0

# macros FILE [option...]: the names that are defined after the file's text.
macros()
{
    local file=$1
    shift
    gcc -x c -std=c11 "$@" -Iinclude -dM -E "$file" | sed -E 's/^#define ([A-Za-z0-9_]+).*/\1/' |
        sort
}

# left_by HEADER [option...]: the names that it defines, beyond those of the headers that it needs.
left_by()
{
    local header=$1
    shift
    comm -23 <(macros "include/$header" "$@") \
        <(macros <(printf '#include <%s>\n' stddef.h stdint.h sys/types.h) "$@")
}

# expect HEADER NAMES [option...]
expect()
{
    local header=$1 names=$2
    shift 2
    if ! diff <(tr ' ' '\n' <<<"$names" | sort) <(left_by "$header" "$@"); then
        echo "include/$header $*: < should be left, > is"
        faults=$((faults + 1))
    fi
}

dimmnet="DIMMNET_H DN_ANY DN_FOREVER DN_VERSION_MAJOR DN_VERSION_MINOR DN_VERSION_PATCH"
expect dimmnet.h "$dimmnet"
expect dimmnet.h "$dimmnet" -DDN_CHECK
expect fagus.h "FAGUS_H FAGUS_FOREVER"

# OpenSHMEM has many constants, and its names without a type are macros; its own tables, which
# those need, keep to the names that the specification reserves for it.
if left_by shmem.h | grep -vE '^(_?SHMEM_|shmem_)'; then
    echo "include/shmem.h leaves these behind"
    faults=$((faults + 1))
fi
[ "$faults" -eq 0 ]
