/**
 * The tar reader and writer under one roof, loaded on demand: a bundler gives a CommonJS package that is imported
 * dynamically no named exports, and this module has them.
 */
export { extract, pack } from 'tar-stream';
