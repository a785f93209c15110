#!/bin/sh
# Compares last night's run with those before it: scripts/nightly_report.sh DIR [options]
#
# DIR holds the traces of a run, or a folder of them for each run. Runs that are not in the history yet are
# analysed and judged, oldest first. The answer goes to stdout and, as nightly.md, .html, .json and
# .junit.xml, to the output folder. Exit codes: 0 fine, 1 slower, 2 usage, 3 inconclusive
# (examples/nightly/README.md).
#
#   --history FILE       the file of nights (gpushim.history.db beside DIR)
#   --output FOLDER      where the answer goes (nightly beside DIR)
#   --threshold 3%       a smaller change counts as none
#   --nights 14          nights that show the noise, and that are printed
#   --keep 400           nights that stay in the history
#   --tags model         keys of GPUSHIM_TAG that tell jobs apart: model,branch
#   --max-age 36         hours: without a newer run, last night's is missing; 0: never
#   --on-regression CMD  runs CMD with the answer as Markdown on its input, once for each night
#   --dry-run            changes nothing: prints the answer, and the input of CMD
set -u

help() { sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; }
usage() {
    help >&2
    exit 2
}
fail() {
    echo "nightly_report.sh: $1" >&2
    exit 2
}

folder='' history='' output='' on_regression='' dry_run='' max_age=36
scratch=
trap '[ -z "$scratch" ] || rm -rf "$scratch"' EXIT

# Options of the analyzer's own are handed on; "$@" is what is left of them at the end.
words=$#
while [ "$words" -gt 0 ]; do
    word=$1 value=
    shift
    words=$((words - 1))
    case $word in
    --history | --output | --threshold | --nights | --keep | --tags | --max-age | --on-regression)
        [ "$words" -gt 0 ] || usage
        value=$1
        shift
        words=$((words - 1))
        ;;
    esac
    case $word in
    --history) history=$value ;;
    --output) output=$value ;;
    --max-age) max_age=$value ;;
    --on-regression) on_regression=$value ;;
    --dry-run) dry_run=1 ;;
    --help | -h)
        help || exit 3
        exit 0
        ;;
    --threshold | --nights | --keep | --tags) set -- "$@" "$word" "$value" ;;
    -*) usage ;;
    *)
        [ -z "$folder" ] || usage
        folder=$word
        ;;
    esac
done
[ -n "$folder" ] || usage
[ -d "$folder" ] || fail "$folder: no such folder"
folder=$(cd "$folder" && pwd)
beside=$(dirname "$folder")
: "${history:=$beside/gpushim.history.db}" "${output:=$beside/nightly}"

root=$(cd "$(dirname "$0")/.." && pwd)
gpushim=$root/${GPUSHIM_BUILD:-build}/gpushim
case ${GPUSHIM_BUILD:-} in /*) gpushim=$GPUSHIM_BUILD/gpushim ;; esac
[ -x "$gpushim" ] || gpushim=$(command -v gpushim) || fail "there is no gpushim; run 'make', or install it"

if [ -n "$dry_run" ]; then
    scratch=$(mktemp -d)
    [ ! -e "$history" ] || cp "$history" "$scratch/history.db" || exit 2
    history=$scratch/history.db output=$scratch
else
    mkdir -p "$output" || exit 2
    # Who comes second waits, and finds that all is done.
    exec 9>"$history.lock" || exit 2
    flock -w 3600 9 || fail "$history: another report has been at it for an hour"
fi

# Folders with traces in them: the one that was given, and those in it.
for run in "$folder" "$folder"/*/; do
    for trace in "$run"/*.db; do
        case $trace in */gpushim.run.db | */gpushim.history.db | */\*.db) continue ;; esac
        set -- "$@" "${run%/}"
        break
    done
done

"$gpushim" history add "$history" "$@" --max-age "$max_age" --output "$output" --markdown
outcome=$?

# Once for each night: who runs this again is not told again.
if [ "$outcome" = 1 ] && [ -n "$on_regression" ]; then
    if [ -n "$dry_run" ]; then
        echo "nightly_report.sh: would run: $on_regression" >&2
    elif ! grep -q '"judged_now": 0,' "$output/nightly.json"; then
        sh -c "$on_regression" <"$output/nightly.md" >&2 ||
            echo "nightly_report.sh: $on_regression: exit code $?" >&2
    fi
fi
exit "$outcome"
