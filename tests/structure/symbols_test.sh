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
