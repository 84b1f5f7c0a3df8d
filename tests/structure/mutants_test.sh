#!/usr/bin/env bash
# mutants_test.sh BUILD [MUTANT...]: the storm finds each planted bug of src/base/mutant.h
# within 10,000 seeds. BUILD was set up with -Dmutants=true.
set -uo pipefail

command=$1/dimmnet
shift
mutants=("$@")
if [ ${#mutants[@]} -eq 0 ]; then
    mapfile -t mutants < <("$command" storm --list |
        sed -n '/^planted bugs$/,$s/^  \([A-Z_]*\) .*/\1/p' | grep -vx NONE)
fi
if [ ${#mutants[@]} -lt 10 ]; then
    echo "only ${#mutants[@]} planted bugs: is $command of a build with -Dmutants=true?"
    exit 1
fi

# Without a bug nothing fails: what is found below is the bug.
failed=0
"$command" storm --seeds 0..499 >/dev/null || { echo "FAIL: without a planted bug"; failed=1; }
for mutant in "${mutants[@]}"; do
    if found=$("$command" storm --seeds 0..9999 --mutant "$mutant" --expect-failure 2>&1); then
        printf 'ok   %-28s %s\n' "$mutant" "$(tail -n 1 <<<"$found")"
    else
        printf 'FAIL %-28s %s\n' "$mutant" "$(tail -n 1 <<<"$found")"
        failed=1
    fi
done
exit "$failed"
