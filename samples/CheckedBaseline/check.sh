#!/usr/bin/env bash
# A step for a build server: fails if Prices.Sum is slower than its baseline. The first run saves the baseline.
#
#     check.sh ASSEMBLY STORE [OPTIONS OF weir run]
#
# Exit codes: 0 as fast as before, 2 slower, 3 not measured: the machine was too busy.
set -euo pipefail
assembly=$1 store=$2
shift 2
weir() { dotnet "${WEIR:-artifacts/bin/Weir.Cli/release/Weir.Cli.dll}" "$@"; }

# GitHub shows what is slower at the pull request, and a table on the page of the job.
shown=()
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then shown=(--annotate --summary "$GITHUB_STEP_SUMMARY"); fi

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
weir run --assembly "$assembly" --method Prices.Sum --processes 5 --quiet --export json --out "$results" "$@"

if [ -f "$store/names/prices.json" ]; then
    weir history check prices "$results/weir-run.json" --dir "$store" --max-regression 10% --fail-on slower "${shown[@]}"
else
    weir history save prices "$results/weir-run.json" --dir "$store"
fi
