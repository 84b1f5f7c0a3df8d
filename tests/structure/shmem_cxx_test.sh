#!/usr/bin/env bash
# OpenSHMEM's names without a type in C++: a call of a wrong type is one error that says so, a call
# of a right one is the machine code of the typed call.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
faults=0

compilers=()
for compiler in g++ clang++; do
    ! command -v "$compiler" >/dev/null || compilers+=("$compiler")
done
[ "${#compilers[@]}" -gt 0 ] || { echo "there is no C++ compiler"; exit 1; }

# ---- Calls that must not compile: what the error says, and the call ------------------

wrong_calls=(
    "shmem_put: no such function|shmem_put(record, record, 1, 0)"
    "shmem_put: no such function|shmem_put(SHMEM_CTX_DEFAULT, record, record, 1, 0)"
    "shmem_put: no such function|shmem_put(constant, number, 1, 0)"
    "shmem_put: no such function|shmem_put(complex, complex, 1, 0)"
    "shmem_put: no such function|shmem_put(anything, anything, 1, 0)"
    "shmem_p: no such function|shmem_p(truth, true, 0)"
    "shmem_p: no such function|shmem_p(record, *record, 0)"
    "shmem_g: no such function|*record = shmem_g(record, 0)"
    "shmem_iput: no such function|shmem_iput(record, record, 1, 1, 1, 0)"
    "shmem_put_signal: no such function|shmem_put_signal(record, record, 1, word, 1, 0, 0)"
    "shmem_atomic_add: no such function|shmem_atomic_add(real, 1, 0)"
    "shmem_atomic_fetch_add_nbi: no such function|shmem_atomic_fetch_add_nbi(real, real, 1, 0)"
    "shmem_atomic_and: no such function|shmem_atomic_and(real, 1, 0)"
    "shmem_atomic_swap: no such function|shmem_atomic_swap(character, 1, 0)"
    "shmem_wait_until: no such function|shmem_wait_until(real, SHMEM_CMP_EQ, 1)"
    "shmem_test_any: no such function|shmem_test_any(constant, 1, nullptr, SHMEM_CMP_EQ, 1)"
    "shmem_broadcast: no such function|shmem_broadcast(SHMEM_TEAM_WORLD, record, record, 1, 0)"
    "shmem_and_reduce: no such function|shmem_and_reduce(SHMEM_TEAM_WORLD, real, real, 1)"
    "shmem_max_reduce: no such function|shmem_max_reduce(SHMEM_TEAM_WORLD, complex, complex, 1)"
    "shmem_complexf_sum_reduce: no such|shmem_complexf_sum_reduce(SHMEM_TEAM_WORLD, complex, complex, 1)"
    "no matching function for call to .shmem_put|shmem_put(number, real, 1, 0)"
    "no matching function for call to .shmem_put|shmem_put(number, number, 1)"
)

# try COMPILER CALL: the errors of a program that makes it.
try()
{
    local parameters="Record *record, bool *truth, const int *constant, int *number, double *real, \
        void *anything, char *character, uint64_t *word"
    {
        echo '#include <shmem.h>'
        echo 'struct Record { Record(const Record &); Record &operator=(const Record &); int first; };'
        if [[ $2 = *complex* ]]; then
            echo '#include <complex>'
            parameters="std::complex<double> *complex"
        fi
        echo "void wrong($parameters) { $2; }"
    } >"$folder/wrong.cpp"
    LC_ALL=C "$1" -std=c++11 -Wall -Iinclude -fsyntax-only "$folder/wrong.cpp" 2>&1 |
        grep -E '(error|warning):' || true
}

for compiler in "${compilers[@]}"; do
    errors=$(try "$compiler" "shmem_put(number, constant, 1, 0)")
    if [ -n "$errors" ]; then
        printf '%s: a right call does not compile:\n%s\n' "$compiler" "$errors"
        faults=$((faults + 1))
    fi
    for wrong in "${wrong_calls[@]}"; do
        errors=$(try "$compiler" "${wrong#*|}")
        if [ "$(grep -c . <<<"$errors")" -ne 1 ] || ! grep -q "${wrong%%|*}" <<<"$errors"; then
            printf '%s, %s: one error is wanted, "%s":\n%s\n' "$compiler" "${wrong#*|}" \
                "${wrong%%|*}" "$errors"
            faults=$((faults + 1))
        fi
    done
done

# ---- Calls whose machine code is that of the typed call: the two, and what they return ----

parameters="shmem_ctx_t ctx, short *shorts, long *longs, const long *from, double *reals,
    unsigned long *word, uint64_t *signal, unsigned char *bytes, size_t *found, long value, size_t n, int pe"
same=(
    "void|shmem_put(longs, from, n, pe)|shmem_long_put(longs, from, n, pe)"
    "void|shmem_get_nbi(ctx, longs, from, n, pe)|shmem_ctx_long_get_nbi(ctx, longs, from, n, pe)"
    "void|shmem_p(longs, value, pe)|shmem_long_p(longs, value, pe)"
    "void|shmem_p(shorts, 3, pe)|shmem_short_p(shorts, 3, pe)"
    "void|shmem_p(ctx, reals, 3, pe)|shmem_ctx_double_p(ctx, reals, 3, pe)"
    "long|shmem_g(from, pe)|shmem_long_g(from, pe)"
    "void|shmem_iput(longs, from, 2, 2, n, pe)|shmem_long_iput(longs, from, 2, 2, n, pe)"
    "void|shmem_ibget(ctx, longs, from, 2, 2, n, n, pe)|shmem_ctx_long_ibget(ctx, longs, from, 2, 2, n, n, pe)"
    "void|shmem_put_signal(longs, from, n, signal, 1, 0, pe)|shmem_long_put_signal(longs, from, n, signal, 1, 0, pe)"
    "long|shmem_atomic_fetch_add(longs, value, pe)|shmem_long_atomic_fetch_add(longs, value, pe)"
    "long|shmem_atomic_compare_swap(ctx, longs, 0, 1, pe)|shmem_ctx_long_atomic_compare_swap(ctx, longs, 0, 1, pe)"
    "void|shmem_atomic_fetch_or_nbi(word, word, 1, pe)|shmem_ulong_atomic_fetch_or_nbi(word, word, 1, pe)"
    "void|shmem_wait_until(word, SHMEM_CMP_NE, 0)|shmem_ulong_wait_until(word, SHMEM_CMP_NE, 0)"
    "size_t|shmem_test_some(longs, n, found, nullptr, 0, 1)|shmem_long_test_some(longs, n, found, nullptr, 0, 1)"
    "int|shmem_alltoall(SHMEM_TEAM_WORLD, longs, from, n)|shmem_long_alltoall(SHMEM_TEAM_WORLD, longs, from, n)"
    "int|shmem_xor_reduce(SHMEM_TEAM_WORLD, bytes, bytes, n)|shmem_uchar_xor_reduce(SHMEM_TEAM_WORLD, bytes, bytes, n)"
    "int|shmem_sum_inscan(SHMEM_TEAM_WORLD, longs, from, n)|shmem_long_sum_inscan(SHMEM_TEAM_WORLD, longs, from, n)"
)

# assembly FIELD COMPILER OPTION...: a function for each entry that makes its generic call (2) or its
# typed one (3). Nothing else may be in it, so templates that are not inlined are found as well.
assembly()
{
    local field=$1
    shift
    {
        echo '#include <shmem.h>'
        for number in "${!same[@]}"; do
            echo "extern \"C\" $(cut -d'|' -f1 <<<"${same[number]}") call_$number($parameters)"
            echo "{ return $(cut -d'|' -f"$field" <<<"${same[number]}"); }"
        done
    } | "$@" -x c++ -std=c++11 -Iinclude -S -o - -
}

for compiler in "${compilers[@]}"; do
    for level in -O1 -O2 -Os; do
        assembly 2 "$compiler" "$level" >"$folder/generic"
        assembly 3 "$compiler" "$level" >"$folder/typed"
        if ! grep -q shmem_long_put "$folder/typed" || ! diff "$folder/typed" "$folder/generic"; then
            echo "$compiler $level: < typed, > generic: the code is not the same"
            faults=$((faults + 1))
        fi
    done
    # Without optimisation no template is a function of its own either.
    if assembly 2 "$compiler" -O0 | grep -E '^_Z'; then
        echo "$compiler -O0: templates that are functions"
        faults=$((faults + 1))
    fi
done
[ "$faults" -eq 0 ]
