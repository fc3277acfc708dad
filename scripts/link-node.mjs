/**
 * Puts the Node of the optional dependencies into `node_modules/.bin`. npm 10 and the first releases of npm 11 leave it out when a
 * package for another platform has a program of the same name. Runs on the oldest Node that `engines` allows.
 */
import { existsSync, symlinkSync } from "node:fs";

const folder = new URL("../node_modules/", import.meta.url);
const link = new URL(".bin/node", folder);
const platform = `${process.platform}-${process.arch}`;
const owner = [`node-${platform}`, `node-bin-${platform}`].find((name) =>
  existsSync(new URL(`${name}/bin/node`, folder)),
);
if (owner !== undefined && !existsSync(link)) symlinkSync(`../${owner}/bin/node`, link);
