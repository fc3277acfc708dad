#!/bin/sh
# Runs `lameduck` from this clone, for the GitHub action and pre-commit: no package of the registry is trusted to be ours. The first run installs what
# package-lock.json names, and builds; it needs Node 20.19 or newer, and npm.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
if [ ! -f "$root/packages/cli/dist/main.js" ]; then
  (cd "$root" && npm ci --include=dev --no-audit --no-fund --loglevel error >&2)
fi
node="$root/node_modules/.bin/node"
[ -x "$node" ] || node=node
exec "$node" "$root/packages/cli/bin/lameduck.js" "$@"
