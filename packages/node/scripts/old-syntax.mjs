/**
 * Lets the tests, which are written in the syntax of the newest Node, run in an older one: `node --import ./old-syntax.mjs --test ...`.
 * Only they are rewritten. Sources and fixtures run as they are, as that Node strips their types.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { transformSync } from "rolldown/utils";

const tests = new URL("../test/", import.meta.url).href;

registerHooks({
  load(url, context, nextLoad) {
    if (!url.startsWith(tests) || !url.endsWith(".ts") || url.includes("/fixtures/"))
      return nextLoad(url, context);
    const file = fileURLToPath(url);
    const target = `node${process.versions.node}`;
    const { code, errors } = transformSync(file, readFileSync(file, "utf8"), { target });
    if (errors[0]) throw new SyntaxError(`${file}: ${errors[0].message}`);
    return { format: "module", source: code, shortCircuit: true };
  },
});
