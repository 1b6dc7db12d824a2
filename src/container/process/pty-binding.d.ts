/** The native half of the pseudo-terminal package; its own JavaScript is not used (terminal-program.ts says why). */
declare module '@lydell/node-pty/requireBinary.js' {
  export interface PtyBinding {
    fork(
      file: string,
      args: string[],
      environment: string[],
      directory: string,
      columns: number,
      rows: number,
      uid: number,
      gid: number,
      utf8: boolean,
      helperPath: string,
      onExit: (code: number, signal: number) => void,
    ): { fd: number; pid: number; pty: string };
    resize(fd: number, columns: number, rows: number): void;
  }
  export function requireBinary(file: 'pty.node'): PtyBinding;
}
