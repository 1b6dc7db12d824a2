import { piCli } from './pi.ts';

/** Installs the real pi once, before several test files would do it at the same time. */
export default function setup(): void {
  piCli();
}
