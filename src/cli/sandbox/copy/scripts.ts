/**
 * What runs in the sandbox for a copy, as its own user: plain tar. It can be made to say anything, so the host believes
 * nothing of it; and all it can write is what the sandbox can write anyway.
 */

const HOME_PATH = `
case $path in '~') path=$HOME ;; '~/'*) path=$HOME/\${path#'~/'} ;; esac
`;

/** The exit code for a path that is not there. */
export const MISSING = 44;

/** Sends a file, link or directory as a tar: a directory's entries from `.` on. Arguments: path, 1 to follow a link. */
export const SEND = `set -eu
path=$1
${HOME_PATH}
case $path in */.) follow=1 path=\${path%.} ;; */) follow=1 ;; *) follow=$2 ;; esac
if [ "$follow" = 1 ]; then path=$(readlink -e -- "$path" && printf x) || exit ${MISSING}; path=\${path%??}; fi
[ -e "$path" ] || [ -L "$path" ] || exit ${MISSING}
if [ -d "$path" ] && [ ! -L "$path" ]; then exec tar -C "$path" -cf - .; fi
parent=\${path%/*}
exec tar -C "\${parent:-/}" -cf - -- "\${path##*/}"
`;

/** The same for a tar that a user gets as it is: its entries are named after what was asked for. */
export const SEND_NAMED = `set -eu
path=$1
${HOME_PATH}
if [ "$2" = 1 ]; then path=$(readlink -e -- "$path" && printf x) || exit ${MISSING}; path=\${path%??}; fi
contents=; case $path in */.) contents=1 path=\${path%/.} ;; *) while [ "\${path%/}" != "$path" ]; do path=\${path%/}; done ;; esac
[ -e "\${path:-/}" ] || [ -L "$path" ] || exit ${MISSING}
if [ -n "$contents" ] || [ -z "$path" ]; then exec tar -C "\${path:-/}" -cf - .; fi
parent=\${path%/*}
exec tar -C "\${parent:-/}" -cf - -- "\${path##*/}"
`;

/** Takes a tar. Arguments: where to, its own name, d or f, 1 for what is in the directory alone. */
export const RECEIVE = `set -eu
path=$1 name=$2 kind=$3 contents=$4
${HOME_PATH}
fail() { printf '%s\\n' "$1" >&2; exit 45; }
if [ -d "$path" ]; then
  target=$path
  if [ "$kind$contents" != d1 ]; then target=\${path%/}/$name; fi
  if [ "$kind" = d ] && [ ! -d "$target" ] && { [ -e "$target" ] || [ -L "$target" ]; }; then fail "$target is no directory"; fi
  if [ "$kind" = f ] && [ -d "$target" ]; then fail "$target is a directory"; fi
elif [ -e "$path" ] || [ -L "$path" ]; then
  if [ "$kind" = d ]; then fail "$path is no directory"; fi
  target=$path
else
  if [ "$kind" = f ]; then case $path in */) fail "there is no directory $path" ;; esac; fi
  target=$path
  while [ "\${target%/}" != "$target" ]; do target=\${target%/}; done
  parent=\${target%/*}
  [ -d "\${parent:-/}" ] || fail "there is no directory \${parent:-/}"
fi
if [ "$kind" = d ]; then
  [ -d "$target" ] || mkdir -- "$target"
  exec tar -C "$target" --no-same-owner -xf -
fi
parent=\${target%/*}
beside=$(mktemp -d "\${parent:-/}/.pi-sandbox-cp.XXXXXX")
trap 'rm -rf -- "$beside"' EXIT
tar -C "$beside" --no-same-owner -xf -
mv -fT -- "$beside/entry" "$target"
`;

/** Unpacks a tar of the user's in a directory. */
export const UNPACK = `set -eu
path=$1
${HOME_PATH}
[ -d "$path" ] || { printf '%s\\n' "there is no directory $path" >&2; exit 45; }
exec tar -C "$path" --no-same-owner -xf -
`;
