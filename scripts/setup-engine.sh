#!/bin/sh
# Finds a working container engine, or installs and starts Debian's (S23).
#
#   setup-engine.sh [--with-base] [--podman]
#
#   --with-base  also installs debootstrap, for the offline base image
#   --podman     also installs Podman and starts its service, and the programs that the tests run (for the tests)
#
# Silent when there is nothing to do. On a terminal it asks before it installs; elsewhere it says what it does.
# PI_SANDBOX_SETUP=no forbids installing and starting. Safe to run again at any time.
set -eu

# Where things are; only the tests of this script change them.
: "${HOME:=/root}"
: "${SETUP_DOCKER_SOCKET:=/var/run/docker.sock}"
: "${SETUP_PODMAN_SOCKET:=/run/podman/podman.sock}"
: "${SETUP_DOCKER_PID:=/var/run/docker.pid}"
: "${SETUP_CONTAINERD_PID:=/run/docker/containerd/containerd.pid}"
: "${SETUP_LOG_DIR:=/var/log/pi-sandbox}"
: "${SETUP_PROC:=/proc}"
: "${SETUP_CGROUP:=/sys/fs/cgroup}"
: "${SETUP_WAIT_SECONDS:=60}"

say() { printf 'pi-sandbox: %s\n' "$*" >&2; }

die() {
  say "$*"
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# Whether an engine answers on a socket. curl and node are asked in turn: a fresh machine has at least node.
answers() {
  [ -S "$1" ] || return 1
  if have curl; then
    [ "$(curl -s -m 5 --unix-socket "$1" http://engine/_ping 2>/dev/null)" = OK ]
  elif have node; then
    node -e '
      const request = require("node:http").get({ socketPath: process.argv[1], path: "/_ping", timeout: 5000 }, (answer) =>
        process.exit(answer.statusCode === 200 ? 0 : 1));
      request.on("timeout", () => process.exit(1)).on("error", () => process.exit(1));
    ' "$1"
  else
    return 1
  fi
}

# An engine that the user chose is theirs to look after: pi-sandbox itself says what is wrong with it.
user_chose_engine() {
  [ -n "${DOCKER_HOST:-}" ] || [ -n "${DOCKER_CONTEXT:-}" ] ||
    grep -s '"currentContext": *"[^"]' "${DOCKER_CONFIG:-$HOME/.docker}/config.json" | grep -qv '"default"'
}

engine_found() {
  for socket in "$SETUP_DOCKER_SOCKET" "${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/docker.sock}" \
    "$HOME/.docker/run/docker.sock" "$HOME/.docker/desktop/docker.sock" "$HOME/.colima/default/docker.sock" \
    "${XDG_RUNTIME_DIR:+$XDG_RUNTIME_DIR/podman/podman.sock}" "$SETUP_PODMAN_SOCKET"; do
    if [ -n "$socket" ] && answers "$socket"; then return 0; fi
  done
  return 1
}

# Runs as root: directly, or through sudo.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

can_be_root() { [ "$(id -u)" = 0 ] || have sudo; }

# Asks on a terminal, says it elsewhere. $1: what is the matter. $2: what is going to be done. $3: how to do it by hand.
consent() {
  if [ "${PI_SANDBOX_SETUP:-}" = no ]; then
    die "$1, and PI_SANDBOX_SETUP=no forbids to $2. By hand: $3"
  fi
  if [ -t 0 ] && [ -t 2 ]; then
    printf 'pi-sandbox: %s. May I %s? [Y/n] ' "$1" "$2" >&2
    read -r answer || answer=n
    case $answer in
      '' | [Yy]*) ;;
      *) die "nothing done. By hand: $3" ;;
    esac
  else
    say "$1: going to $2 (PI_SANDBOX_SETUP=no forbids it)"
  fi
}

# Installs the packages that are missing. Another installation may hold the lock; package lists may be missing or old.
install_packages() {
  missing=
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  say "installing$missing"
  log=$(mktemp)
  for attempt in 1 2 3; do
    # shellcheck disable=SC2086 # a list of words
    if as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y \
      --no-install-recommends $missing >"$log" 2>&1; then
      rm -f "$log"
      return 0
    fi
    say "updating the package lists (attempt $attempt)"
    as_root apt-get -o DPkg::Lock::Timeout=120 update >>"$log" 2>&1 || sleep $((attempt * 2))
  done
  tail -n 20 "$log" >&2
  rm -f "$log"
  die "could not install$missing. By hand: apt-get update && apt-get install$missing"
}

# Whether the process in a pid file lives and is the program named. Pids start low again in a new container or after
# a restart, so that a number alone may be somebody else's.
is_running() {
  pid=$(cat "$1" 2>/dev/null) || return 1
  case $pid in '' | *[!0-9]*) return 1 ;; esac
  [ "$(cat "$SETUP_PROC/$pid/comm" 2>/dev/null)" = "$2" ]
}

# Removes a pid file that a killed daemon left: dockerd would take any process of that number for itself.
clear_stale_pid() {
  if [ -e "$1" ] && ! is_running "$1" "$2"; then
    say "removing the stale $1"
    as_root rm -f "$1"
  fi
}

# In a minimal container nobody has mounted the control groups.
mount_cgroups() {
  if [ -e "$SETUP_CGROUP/cgroup.controllers" ] || [ -d "$SETUP_CGROUP/memory" ]; then return 0; fi
  say "mounting the control groups on $SETUP_CGROUP"
  as_root mkdir -p "$SETUP_CGROUP"
  if as_root mount -t cgroup2 cgroup2 "$SETUP_CGROUP" 2>/dev/null; then return 0; fi
  as_root mount -t tmpfs -o mode=755 cgroup "$SETUP_CGROUP" || return 0
  awk '!/^#/ && $4 == 1 { print $1 }' "$SETUP_PROC/cgroups" | while read -r controller; do
    as_root mkdir -p "$SETUP_CGROUP/$controller"
    as_root mount -t cgroup -o "$controller" cgroup "$SETUP_CGROUP/$controller" || true
  done
}

# Waits, bounded, for an engine on a socket. $2: the pid of its process, empty where a service looks after it.
# $3: seconds, if not the usual.
wait_for() {
  waited=0
  while [ "$waited" -lt "${3:-$SETUP_WAIT_SECONDS}" ]; do
    if answers "$1"; then return 0; fi
    if [ -n "${2:-}" ] && [ ! -d "$SETUP_PROC/$2" ]; then return 1; fi
    sleep 1
    waited=$((waited + 1))
  done
  return 1
}

# Starts a daemon that outlives this script and its terminal. $1: name of the log; the rest: the command. Sets $started.
start_detached() {
  log=$SETUP_LOG_DIR/$1.log
  shift
  as_root mkdir -p "$SETUP_LOG_DIR"
  # setsid: a Ctrl-C in this terminal must not end the engine. The pid it prints is the daemon's own.
  started=$(as_root sh -c 'log=$1; shift; setsid "$@" </dev/null >>"$log" 2>&1 & echo $!' sh "$log" "$@")
}

dockerd_by_service() {
  if [ -d /run/systemd/system ]; then
    as_root systemctl start docker >/dev/null 2>&1 || return 1
  elif have service && [ -x /etc/init.d/docker ]; then
    as_root service docker start >/dev/null 2>&1 || return 1
  else
    return 1
  fi
  # A service script may report success where the daemon cannot live: then it is started directly.
  wait_for "$SETUP_DOCKER_SOCKET" '' 10
}

start_docker() {
  mount_cgroups
  clear_stale_pid "$SETUP_DOCKER_PID" dockerd
  clear_stale_pid "$SETUP_CONTAINERD_PID" containerd
  say 'starting the Docker Engine'
  if dockerd_by_service; then return 0; fi
  if start_dockerd; then return 0; fi
  # Old kernels and small containers lack nftables; Debian has the older programs beside.
  if grep -qi 'iptables\|nf_tables' "$SETUP_LOG_DIR/dockerd.log" 2>/dev/null && [ -x /usr/sbin/iptables-legacy ]; then
    say 'trying again with iptables-legacy'
    as_root update-alternatives --set iptables /usr/sbin/iptables-legacy >/dev/null || true
    as_root update-alternatives --set ip6tables /usr/sbin/ip6tables-legacy >/dev/null || true
    if start_dockerd; then return 0; fi
  fi
  say "the Docker Engine did not start within $SETUP_WAIT_SECONDS s; the end of $SETUP_LOG_DIR/dockerd.log:"
  as_root tail -n 20 "$SETUP_LOG_DIR/dockerd.log" >&2 || true
  exit 1
}

start_dockerd() {
  clear_stale_pid "$SETUP_DOCKER_PID" dockerd
  clear_stale_pid "$SETUP_CONTAINERD_PID" containerd
  # One that is starting, or that hangs, is waited for: a second one would only fail.
  if is_running "$SETUP_DOCKER_PID" dockerd; then
    wait_for "$SETUP_DOCKER_SOCKET" "$(cat "$SETUP_DOCKER_PID")"
    return
  fi
  start_detached dockerd dockerd
  wait_for "$SETUP_DOCKER_SOCKET" "$started"
}

# A group counts from the next login on; until the engine restarts, owning its socket is the same right at once.
grant_access() {
  if [ -w "$SETUP_DOCKER_SOCKET" ]; then return 0; fi
  user=$(id -un)
  say "adding $user to the docker group, and giving it the engine's socket until the next login"
  as_root usermod -aG docker "$user"
  as_root chown "$user" "$SETUP_DOCKER_SOCKET"
}

setup_docker() {
  if user_chose_engine || engine_found; then return 0; fi
  by_hand='apt-get install docker.io iptables, then start dockerd'
  if ! have apt-get || ! can_be_root; then
    die "no working container engine. Install Docker Engine (https://docs.docker.com/engine/install) or Podman and start it"
  fi
  if [ -S "$SETUP_DOCKER_SOCKET" ] && [ ! -w "$SETUP_DOCKER_SOCKET" ]; then
    consent "$SETUP_DOCKER_SOCKET is not yours to use" 'add you to the docker group' 'sudo usermod -aG docker "$USER"'
    grant_access
    if answers "$SETUP_DOCKER_SOCKET"; then return 0; fi
  fi
  if have dockerd; then
    consent 'no working container engine' 'start the installed Docker Engine' 'sudo systemctl start docker, or run dockerd as root'
  else
    consent 'no working container engine' "install and start Debian's docker.io" "$by_hand"
  fi
  install_packages docker.io iptables
  if ! answers "$SETUP_DOCKER_SOCKET"; then start_docker; fi
  grant_access
}

setup_base() {
  if have debootstrap; then return 0; fi
  consent 'debootstrap is missing' 'install debootstrap, for the offline base image' 'apt-get install debootstrap'
  install_packages debootstrap
}

# What the tests run beside the engines: a static program for a container, an SSH agent, the shells that complete,
# a terminal multiplexer.
install_test_programs() {
  if ! have apt-get; then return 0; fi
  absent=
  for program in busybox:busybox-static ssh-agent:openssh-client curl:curl zsh:zsh fish:fish tmux:tmux; do
    have "${program%%:*}" || absent="$absent ${program#*:}"
  done
  if [ -z "$absent" ]; then return 0; fi
  consent "programs for the tests are missing:$absent" 'install them' "apt-get install$absent"
  # shellcheck disable=SC2086 # one word each
  install_packages $absent
}

setup_podman() {
  install_test_programs
  if answers "$SETUP_PODMAN_SOCKET"; then return 0; fi
  consent 'no Podman service' 'install Podman and start its service' \
    "apt-get install podman, then podman system service --time=0 unix://$SETUP_PODMAN_SOCKET"
  have podman || install_packages podman
  mount_cgroups
  as_root mkdir -p "$(dirname "$SETUP_PODMAN_SOCKET")"
  # Left by a service that was killed.
  as_root rm -f "$SETUP_PODMAN_SOCKET"
  start_detached podman podman system service --time=0 "unix://$SETUP_PODMAN_SOCKET"
  if wait_for "$SETUP_PODMAN_SOCKET" "$started"; then return 0; fi
  say "Podman's service did not start; the end of $SETUP_LOG_DIR/podman.log:"
  as_root tail -n 20 "$SETUP_LOG_DIR/podman.log" >&2 || true
  exit 1
}

main() {
  base=no podman=no
  for option in "$@"; do
    case $option in
      --with-base) base=yes ;;
      --podman) podman=yes ;;
      *)
        say "unknown option $option; allowed: --with-base, --podman"
        exit 2
        ;;
    esac
  done
  setup_docker
  if [ "$base" = yes ]; then setup_base; fi
  if [ "$podman" = yes ]; then setup_podman; fi
}

# Tests read the functions without running them.
if [ "${SETUP_SOURCED:-}" != yes ]; then main "$@"; fi
