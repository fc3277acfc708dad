#!/usr/bin/env node
import { readFileSync } from "node:fs";

const { engines } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const oldest = engines.node.replace(">=", "");
if (process.versions.node.localeCompare(oldest, "en", { numeric: true }) < 0) {
  process.stderr.write(
    `error Node ${process.versions.node} is too old: Lameduck needs Node ${oldest} or newer [LAMEDUCK_OLD_NODE]; in this folder: npm install --save-dev node@24\n`,
  );
  process.exit(4);
}
if (process.env.LAMEDUCK_DEBUG) process.setSourceMapsEnabled(true);
const { main } = await import("../dist/main.js");
process.exitCode = await main(process.argv);
