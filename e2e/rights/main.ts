/**
 * Which of its rights each account of the chart has used, by an audit log of the API server, and what it was refused:
 *
 *     E2E_AUDIT_LOG=/tmp/audit.log npm run acknowledged -w e2e -- --ways library --rates 60 --times 1
 *     E2E_AUDIT_LOG=/tmp/audit.log npm run test:cluster -- deletions
 *     npm run rights -w e2e -- /tmp/audit.log
 *
 * Each run adds to the file. Ends with 1 where something was refused that the account's roles do not allow. What they allow is refused
 * for a moment by an API server that has just started.
 */
import { commandLine } from "../../scripts/command-line.ts";
import { runMain } from "../program.ts";
import { accounts } from "./accounts.ts";
import { usedRights } from "./used.ts";

const { positionals } = commandLine(import.meta.url, { allowPositionals: true, options: {} });
const print = (line: string): void => void process.stdout.write(`${line}\n`);

await runMain(async () => {
  const [file] = positionals;
  if (file === undefined) {
    process.stderr.write("usage: npm run rights -w e2e -- FILE\n");
    return 2;
  }
  let refused = 0;
  for (const account of accounts) {
    const {
      account: name,
      requests,
      used,
      unused,
      forbidden,
      refusedEarly,
    } = await usedRights(file, account);
    const count = Object.keys(used).length;
    print(`${name}: ${requests} requests, ${count} of ${count + unused.length} rights used`);
    for (const [right, times] of Object.entries(used).sort(([a], [b]) => a.localeCompare(b)))
      print(`  ${right} (${times})`);
    for (const right of unused) print(`  not used: ${right}`);
    for (const question of refusedEarly) print(`  refused, although it is allowed: ${question}`);
    for (const question of forbidden) print(`  refused: ${question}`);
    refused += forbidden.length;
  }
  return refused === 0 ? 0 : 1;
});
