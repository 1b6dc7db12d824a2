# Start-up file of shells in a pi-sandbox container: put here once, yours to change (it is the domain's home).
case $- in *i*) ;; *) return ;; esac

HISTCONTROL=ignoreboth
HISTSIZE=5000
HISTFILESIZE=10000
shopt -s histappend checkwinsize

PS1='\[\e[1;36m\]sandbox\[\e[0m\]${PI_SANDBOX_DOMAIN:+:$PI_SANDBOX_DOMAIN} \w \$ '
alias ls='ls --color=auto' ll='ls -l' la='ls -la' grep='grep --color=auto'
