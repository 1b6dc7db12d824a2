import { readFileSync } from 'node:fs';

const [file] = process.argv.slice(2);

if (file === undefined) {
  console.error('usage: node src/count.js <file>');
  process.exit(2);
}

const words = readFileSync(file, 'utf8')
  .split(/\s+/)
  .filter((word) => word !== '');
console.log(`${words.length} words in ${file}`);
