#!/usr/bin/env bash
# Checks every model of this folder with spin, in bounded time and memory: safety, no
# invalid end state. usage: run_models.sh [MODEL...]
#
# A model's lines "spin: FLAGS" in comments each ask for a run with those definitions;
# "spin-fails: FLAGS" for one that must find an error, so that the model can fail;
# "spin-long: FLAGS" for one of minutes, only with MODEL_LONG=1.
set -uo pipefail

folder=$(cd "$(dirname "$0")" && pwd)
seconds=${MODEL_SECONDS:-300}
megabytes=${MODEL_MEGABYTES:-4000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

for tool in spin cc; do
    command -v "$tool" >/dev/null || { echo "run_models.sh: $tool is not installed"; exit 77; }
done

# run_model MODEL WANTED FLAGS: WANTED is 0 or 1 errors.
run_model()
{
    local model=$1 wanted=$2 flags=$3 name errors states
    name="$(basename "$model" .pml)${flags:+ $flags}"
    rm -rf "${work:?}"/* && cp "$model" "$work/model.pml"
    # shellcheck disable=SC2086
    if ! (cd "$work" && spin -a $flags model.pml &&
        cc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM="$megabytes" -o pan pan.c) >"$work/build" 2>&1; then
        echo "FAIL $name: cannot be built"
        sed 's/^/    /' "$work/build"
        failed=1
        return
    fi
    (cd "$work" && timeout "$seconds" ./pan -m500000) >"$work/out" 2>&1
    errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$work/out")
    states=$(sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' "$work/out")
    if grep -qE 'max search depth too small|out of memory|reached -DMEMLIM' "$work/out" ||
        [ -z "$errors" ]; then
        echo "FAIL $name: did not come to its end"
        tail -n 5 "$work/out" | sed 's/^/    /'
        failed=1
    elif [ "$errors" != "$wanted" ]; then
        echo "FAIL $name: $errors errors, not $wanted"
        grep '^pan:' "$work/out" | head -n 3 | sed 's/^/    /'
        [ "$errors" = 0 ] || (cd "$work" && spin -t -p model.pml | tail -n 60 | sed 's/^/    /')
        failed=1
    else
        echo "ok $name ($states states)"
    fi
}

models=("$@")
[ ${#models[@]} -gt 0 ] || models=("$folder"/*.pml)
for model in "${models[@]}"; do
    runs=0
    while IFS=: read -r kind flags; do
        runs=$((runs + 1))
        case $kind in
        *fails) run_model "$model" 1 "${flags# }" ;;
        *long) [ "${MODEL_LONG-0}" = 0 ] || run_model "$model" 0 "${flags# }" ;;
        *) run_model "$model" 0 "${flags# }" ;;
        esac
    done < <(grep -oE 'spin(-fails|-long)?:( -D[A-Za-z0-9_=]+)*' "$model")
    [ "$runs" -gt 0 ] || run_model "$model" 0 ""
done
exit "$failed"
