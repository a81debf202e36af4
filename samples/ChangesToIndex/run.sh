#!/usr/bin/env bash
# Starts both servers, if they do not run, for as long as the sample lasts, and then the sample. Arguments are a program to start in place of the built one.
set -uo pipefail
cd "$(dirname "$0")/../.."
if ! servers=$(eng/services up --while $$); then
    echo "skipped: PostgreSQL and RabbitMQ cannot be started here (eng/services says why)."
    exit 0
fi
set -a
eval "$servers"
set +a
if [ $# -eq 0 ]; then set -- dotnet run -c Release --project samples/ChangesToIndex; fi
exec "$@"
