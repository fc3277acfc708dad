#!/usr/bin/env node
const [major] = process.versions.node.split(".");
if (Number(major) < 22) {
  process.stderr.write(
    `error Node ${process.versions.node} is too old: Lameduck needs Node 22 or newer [LAMEDUCK_OLD_NODE]\n`,
  );
  process.exit(4);
}
const { main } = await import("../dist/main.js");
process.exitCode = await main(process.argv);
