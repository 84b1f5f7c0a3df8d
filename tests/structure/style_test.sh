#!/usr/bin/env bash
# Functions that can be seen whole, files that fit in a mind, lines that fit a screen.
# (Layout itself is `make format`: no two versions of clang-format agree on all of it.)
set -euo pipefail
cd "$(dirname "$0")/../.."

mapfile -t files < <(find include src tests bench examples -name '*.[ch]' | sort)
# A function's braces stand alone in the first column.
awk -v function_lines=90 -v file_lines=800 -v columns=100 '
    function fault(line, what)
    {
        print FILENAME ":" line ": " what
        faults++
    }
    /^\{/ { start = FNR }
    /^\}/ && start {
        if (FNR - start - 1 > function_lines)
            fault(start, "a function of " FNR - start - 1 " lines")
        start = 0
    }
    FNR == file_lines + 1 { fault(FNR, "a file of more than " file_lines " lines") }
    length > columns { fault(FNR, "more than " columns " columns") }
    /\t/ { fault(FNR, "a tab") }
    /[ \t]$/ { fault(FNR, "a blank at the end") }
    END { exit faults > 0 }' "${files[@]}"
