#!/usr/bin/env bash
# A store is a store: on `mem`, dn_store_* and dn_load_* compile to one predicted test and
# one plain store, or to one load; no call, no locked instruction, no fence on the way.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
faults=0

cat >"$folder/probe.c" <<'PROBE'
#include "dimmnet.h"
#define PROBE(suffix, type)                                                    \
    void store_##suffix(const struct dn_kick *kick, uint64_t offset, type v);  \
    void store_##suffix(const struct dn_kick *kick, uint64_t offset, type v)   \
    {                                                                          \
        dn_store_##suffix(kick, offset, v);                                    \
    }                                                                          \
    type load_##suffix(const void *word);                                      \
    type load_##suffix(const void *word)                                       \
    {                                                                          \
        return dn_load_##suffix(word);                                         \
    }
PROBE(u8, uint8_t)
PROBE(u16, uint16_t)
PROBE(u32, uint32_t)
PROBE(u64, uint64_t)
PROBE

# fast_path OBJDUMP FUNCTION: its instructions from the entry to the first return, which is
# the way of a kick with a pointer when the test's branch is not taken.
fast_path()
{
    "$1" -d --no-show-raw-insn "$folder/probe.o" |
        awk -v name="<$2>:" '$2 == name { inside = 1; next }
            inside && NF > 1 { sub(/^[^\t]*\t/, ""); print; if (/^ret/) exit }' |
        grep -Ev '^(endbr64|bti)'
}

# expect COMPILER FUNCTION CODE COUNT PATTERN WHAT
expect()
{
    local found
    found=$(grep -Ec -- "$5" <<<"$3" || true)
    if [ "$found" -ne "$4" ]; then
        printf '%s, %s: %s %s instead of %s:\n%s\n' "$1" "$2" "$found" "$6" "$4" "$3"
        faults=$((faults + 1))
    fi
}

# check COMPILER OBJDUMP TEST BRANCH STORE BANNED, the last four patterns of instructions.
check()
{
    local compiler=$1 objdump=$2 suffix code
    "$compiler" -std=c11 -O2 -Iinclude -c "$folder/probe.c" -o "$folder/probe.o"
    for suffix in u8 u16 u32 u64; do
        code=$(fast_path "$objdump" "store_$suffix")
        expect "$compiler" "store_$suffix" "$code" 1 "$3" "tests"
        expect "$compiler" "store_$suffix" "$code" 1 "$4" "branches"
        expect "$compiler" "store_$suffix" "$code" 1 "$5" "plain stores"
        expect "$compiler" "store_$suffix" "$code" 0 "$6" "calls, locks, fences"
        expect "$compiler" "store_$suffix" "$code" 1 '^ret' "returns"

        code=$(fast_path "$objdump" "load_$suffix")
        expect "$compiler" "load_$suffix" "$code" 0 "$4" "branches"
        expect "$compiler" "load_$suffix" "$code" 0 "$6" "calls, locks, fences"
        expect "$compiler" "load_$suffix" "$code" 1 '^ret' "returns"
    done
    echo "$compiler:" && fast_path "$objdump" store_u64
}

case $(uname -m) in
x86_64)
    for compiler in gcc clang; do
        check "$compiler" objdump '^(test|cmp)' '^j' '^mov.*,[^,]*\(.*\)$' \
            '^(call|jmp|lock|xchg|[lsm]fence|xadd|cmpxchg|rep)'
    done
    ;;
esac
# On ARM the plain store is the release store, and a dmb would be the fence.
if command -v aarch64-linux-gnu-gcc >/dev/null; then
    check aarch64-linux-gnu-gcc aarch64-linux-gnu-objdump '^cbn?z' '^(cb|b\.)' '^stlr' \
        '^(bl|b|dmb|dsb|isb|ldxr|ldaxr|stxr|stlxr|cas.*|swp.*)[[:space:]]'
fi
[ "$faults" -eq 0 ]
