/** Runs the program of one idiom: `node program.mjs GROUP NAME`. */
const [group, name] = process.argv.slice(2);
const { default: idioms } = await import(`./groups/${group}.mjs`);
await idioms[name].program();
