/** A file of its own beside the lock extension, which loads it when a Session has come back from the trash, and only then. */
export { logBroughtBack } from '../../history/index.ts';
