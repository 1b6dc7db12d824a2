# Read by login shells. Everything interactive is in .bashrc.
[ -n "${BASH_VERSION:-}" ] && [ -f "$HOME/.bashrc" ] && . "$HOME/.bashrc"
