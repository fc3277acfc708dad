#!/usr/bin/env node
import { readFileSync } from "node:fs";
import * as module from "node:module";

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const oldest = engines.node.replace(">=", "");
if (process.versions.node.localeCompare(oldest, "en", { numeric: true }) < 0) {
  process.stderr.write(
    `error Node ${process.versions.node} is too old: Lameduck needs Node ${oldest} or newer [LAMEDUCK_OLD_NODE]\n`,
  );
  process.exit(4);
}
if (process.env.LAMEDUCK_DEBUG) process.setSourceMapsEnabled(true);
// Compiled code is kept in the temporary folder: it saves a fifth of the start-up.
module.enableCompileCache?.();
const { main } = await import("../dist/main.js");
process.exitCode = await main(process.argv);
