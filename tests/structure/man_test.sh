#!/usr/bin/env bash
# The man pages are well formed and complete: every function of dimmnet.h, fagus.h and shmemx.h
# stands in the NAME of one page and every FAGUS_ error in fagus(7); references to our own pages lead
# somewhere; and every whole program in a page compiles.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
faults=0

fault()
{
    echo "$*"
    faults=$((faults + 1))
}

mapfile -t pages < <(find man -name '*.[137]' | sort)
mandoc -T lint -W warning "${pages[@]}" || fault "mandoc finds fault"

# "name section" of every name that a page is found under: its file's, and those that
# man/meson.build makes links of.
for page in "${pages[@]}"; do
    name=$(basename "${page%.*}")
    { echo "$name" && sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \([a-z0-9_+-]*\).*/\1/p' "$page"; } |
        sort -u | sed "s/\$/ ${page##*.}/"
done | sort >"$folder/names"
while read -r name; do
    fault "two pages are $name"
done < <(uniq -d "$folder/names")

# declared HEADER PATTERN: the functions that a header declares.
declared() { gcc -E -P -std=c11 "include/$1" | grep -oE "\\b($2) ?\\(" | tr -d ' (' | sort -u; }
while read -r name; do
    grep -qx "$name 3" "$folder/names" || fault "$name has no page"
done < <(declared dimmnet.h 'dn_[a-z0-9_]+' &&
    declared fagus.h 'fagus_[a-z0-9_]+|dimmnet_[a-z0-9_]+|comm_sync' &&
    declared shmemx.h 'shmemx_[a-z0-9_]+')

while read -r name; do
    grep -q "^\.It Er $name" man/fagus.7 || fault "fagus(7) does not explain $name"
done < <(grep -oE '\bFAGUS_E[A-Z]+ =' include/fagus.h | cut -d' ' -f1)

while read -r name; do
    grep -qx "$name" "$folder/names" || fault "there is no page $name, to which others refer"
done < <(grep -hoE '\bXr (dn_|fagus|dimmnet|shmem|osh)[a-z0-9_+-]* [137]' "${pages[@]}" |
    cut -d' ' -f2- | sort -u)

# A literal block with main() is a program, as `man` shows it.
for page in "${pages[@]}"; do
    awk -v out="$folder/$(basename "$page")" '
        /^\.Ed/ { inside = 0; close(file) }
        inside { gsub(/\\e/, "\\"); sub(/^\\&/, ""); print >file }
        /^\.Bd -literal/ { inside = 1; file = out "." ++count ".c" }' "$page"
done
programs=0
for program in "$folder"/*.c; do
    grep -q 'int main(' "$program" || continue
    programs=$((programs + 1))
    gcc -Wall -Wextra -Werror -Iinclude -fsyntax-only "$program" ||
        fault "a program of ${program##*/} does not compile"
done
[ "$programs" -ge 3 ] || fault "only $programs programs were found in the pages"

[ "$faults" -eq 0 ]
