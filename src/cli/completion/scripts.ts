/** What each shell needs to ask the command itself: no list of verbs is kept anywhere else. */

const BASH = `# pi-sandbox completion for bash: source <(pi-sandbox completion bash)
_pi_sandbox() {
  local current=\${COMP_WORDS[COMP_CWORD]} line paths=none
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :*) paths=\${line#:} ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case $paths in
    directories | files)
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
        if [ "$paths" = directories ]; then compgen -d -- "$current"; else compgen -f -- "$current"; fi
      ) ;;
    # Names are not files here, so bash puts them into the line as they are, where \`$(…)\` would be run.
    *) for line in "\${!COMPREPLY[@]}"; do printf -v "COMPREPLY[line]" %q "\${COMPREPLY[line]}"; done ;;
  esac
}
complete -F _pi_sandbox pi-sandbox
`;

const ZSH = `#compdef pi-sandbox
# pi-sandbox completion for zsh: source <(pi-sandbox completion zsh), after compinit
_pi_sandbox() {
  local line paths=none
  local -a values shown
  for line in "\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :*) paths=\${line#:} ;;
      *$'\\t'*) values+=("\${line%%$'\\t'*}"); shown+=("\${line%%$'\\t'*}  -- \${line#*$'\\t'}") ;;
      ?*) values+=("$line"); shown+=("$line") ;;
    esac
  done
  (( $#values )) && compadd -l -d shown -a values
  case $paths in
    directories) _files -/ ;;
    files) _files ;;
  esac
}
compdef _pi_sandbox pi-sandbox
`;

const FISH = `# pi-sandbox completion for fish: pi-sandbox completion fish | source
function __pi_sandbox_complete
  set -l current (commandline -ct)
  set -l words (commandline -opc) "$current"
  for line in ($words[1] __complete -- $words[2..-1] 2>/dev/null)
    switch $line
      case ':directories'
        __fish_complete_directories "$current" ''
      case ':files'
        __fish_complete_path "$current" ''
      case ':*'
      case '*'
        printf '%s\\n' $line
    end
  end
end
complete -c pi-sandbox -f -a '(__pi_sandbox_complete)'
`;

export const SCRIPTS = { bash: BASH, zsh: ZSH, fish: FISH } as const;
