/**
 * `npm run docs` builds the site into `site/.vitepress/dist`. `--serve` then shows it on this machine alone, `--port N` where 4173 is
 * taken. The site's tools are installed by the first run, and again when the lock file has changed: `npm ci` of the repository has no
 * need of them.
 */
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { serve: { type: "boolean" }, port: { type: "string", default: "4173" } },
});
const here = import.meta.dirname;
const installed = join(here, "node_modules/.package-lock.json");
const lock = join(here, "package-lock.json");

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs)
  run("npm", "ci", "--no-audit", "--no-fund", "--loglevel=error");
run(process.execPath, "node_modules/vitepress/bin/vitepress.js", "build", ".");

if (values.serve) {
  const { show } = await import("./show.ts");
  const { address } = await show(Number(values.port));
  console.error(`${address} shows site/.vitepress/dist; end with Ctrl-C`);
}

function run(command: string, ...arguments_: string[]): void {
  const { status, error } = spawnSync(command, arguments_, { cwd: here, stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
