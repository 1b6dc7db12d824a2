#!/bin/sh
# What `npm run demo`, `npm test`, `npm run bench` and `npm run faults` begin with on any machine (S23): the dependencies, an engine,
# the build; then the script of that name. Node 24 comes from the npm package `node`, so that the system's own Node
# does not matter. PI_SANDBOX_SETUP=no forbids installing an engine.
set -eu
cd "$(dirname "$0")/.."
task=${1:?usage: with-setup.sh demo|test|bench|faults [arguments]}
shift

say() { printf 'pi-sandbox: %s\n' "$*" >&2; }

# npm writes this file last, so an install that was interrupted is done again.
installed=node_modules/.package-lock.json
if [ ! -f "$installed" ] || [ package-lock.json -nt "$installed" ] || [ ! -x node_modules/.bin/node ]; then
  say 'installing dependencies (npm ci)'
  npm ci --no-audit --no-fund --loglevel=error >&2
fi
PATH=$PWD/node_modules/.bin:$PATH
export PATH

case $task in
  test | bench | faults) sh scripts/setup-engine.sh --with-base --podman ;;
  *) sh scripts/setup-engine.sh --with-base ;;
esac

node scripts/build.ts
exec node "scripts/$task.ts" "$@"
