/**
 * Decides as pi 1.6.0 does (docs/pi-state.md): a lock directory beside the file, tried 10 times in 200 ms, and the
 * whole file rewritten in place. Arguments: the file, a prefix, how many decisions.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [file = '', prefix = '', count = '0'] = process.argv.slice(2);

function locked(work: () => void): void {
  for (let attempt = 1; ; attempt++) {
    try {
      mkdirSync(`${file}.lock`);
      break;
    } catch (error) {
      if (attempt === 10) throw error;
      const start = Date.now();
      while (Date.now() - start < 20);
    }
  }
  try {
    work();
  } finally {
    rmdirSync(`${file}.lock`);
  }
}

for (let n = 0; n < Number(count); n++) {
  locked(() => {
    const data = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
    data[`${prefix}/${n}`] = n % 2 === 0;
    writeFileSync(file, `${JSON.stringify(data, null, 2)}\n`);
  });
  await sleep(Math.random() * 12);
}
