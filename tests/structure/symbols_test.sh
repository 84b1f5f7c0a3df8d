#!/usr/bin/env bash
# The library's ABI is what the header declares: usage symbols_test.sh BUILD_FOLDER.
# Whatever is exported under a public version is declared, whatever is declared is
# exported, and nothing is exported without a version.
set -euo pipefail
cd "$(dirname "$0")/../.."

# Lines "name@@version"; the versions themselves are absolute symbols.
exported=$(nm -D --defined-only "$1/libdimmnet.so" | awk '$2 != "A" { print $3 }')
public=$(sed -n 's/@@DIMMNET_[0-9].*//p' <<<"$exported" | sort)
declared=$(gcc -E -P -std=c11 include/dimmnet.h | grep -oE '\bdn_[a-z0-9_]+ ?\(' | tr -d ' (' |
    sort -u)

if ! diff <(echo "$declared") <(echo "$public"); then
    echo "< declared in include/dimmnet.h, > exported by libdimmnet.so (src/dimmnet.map)"
    exit 1
fi
if grep -v '@@DIMMNET_' <<<"$exported"; then
    echo "exported without a version of ours"
    exit 1
fi

# compare HEADER LIBRARY MAP VERSION: what is declared is exported under a public version, with a
# version of ours, and nothing else is.
compare()
{
    if ! diff <(echo "$declared") <(sed -n "s/@@$4_[0-9].*//p" <<<"$exported" | sort); then
        echo "< declared in include/$1, > exported by $2 (src/$3)"
        exit 1
    fi
    if grep -v "@@$4_" <<<"$exported"; then
        echo "exported without a version of ours"
        exit 1
    fi
}

# OpenSHMEM: the typed functions come from tables, so the preprocessor says what is declared.
exported=$(nm -D --defined-only "$1/libdimmnet-shmem.so" | awk '$2 != "A" { print $3 }')
declared=$(gcc -E -P -std=c11 include/shmemx.h |
    grep -oE '\b(p?shmemx?_[a-z0-9_]+|start_pes|_my_pe|_num_pes|sh(malloc|memalign|realloc|free)) ?\(' |
    tr -d ' (' | sort -u)
compare shmemx.h libdimmnet-shmem.so shmem.map DIMMNET_SHMEM

# Fagus, with the names that paper 001's port layer has.
exported=$(nm -D --defined-only "$1/libfagus.so" | awk '$2 != "A" { print $3 }')
declared=$(gcc -E -P -std=c11 include/fagus.h |
    grep -oE '\b(fagus_[a-z0-9_]+|dimmnet_[a-z0-9_]+|comm_sync) ?\(' | tr -d ' (' | sort -u)
compare fagus.h libfagus.so fagus.map FAGUS
