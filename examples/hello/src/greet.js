const names = process.argv.slice(2);

for (const name of names.length > 0 ? names : ['world']) {
  console.log(`Hello, ${name}!`);
}
