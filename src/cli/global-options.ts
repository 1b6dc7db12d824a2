/** Options that every command has. */
export interface GlobalOptions {
  /** `--engine`: a docker context or an engine's URL. */
  engine?: string;
  /** `--debug`: how things were found, and a stack trace on failure. */
  debug?: boolean;
}
