/** The YAML parser: a file of its own beside the program, for it is a third of it and only profiles and graphs need it. */
export { parse } from 'yaml';
