# shellcheck shell=bash
# Read by .ci/run, test/bare/run and test/more: runs commands and adds up what they counted.
passed=0 failed=0

say() { printf '\n== %s\n' "$*"; }

# counted COMMAND...: adds the counts it ends with; without such a line it passes or fails as one. A failure
# that the counts do not show is one more
counted() {
    say "$*"
    local log status line began=$SECONDS counts='^([0-9]+) passed, ([0-9]+) failed(, .*)?$'
    log=$(mktemp)
    "$@" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    line=$(grep -E "$counts" "$log" | tail -n 1)
    rm -f "$log"
    printf '== %s s: %s\n' $((SECONDS - began)) "$*"
    if [[ $line =~ $counts ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
        if [ "$status" = 0 ] || [ "${BASH_REMATCH[2]}" != 0 ]; then return; fi
    elif [ "$status" = 0 ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "FAILED  $*: exit status $status"
}

# total: the last line, and the exit status that goes with it
total() {
    say "all of it"
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
