import assert from "node:assert/strict";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { audit } from "../src/index.ts";
import { options } from "./options.ts";

/** Well-known manifests, reduced to what the rules read. Each list of findings was looked over by hand. UPDATE_GOLDEN=1 writes it anew. */
const folder = join(import.meta.dirname, "scenarios");

for (const name of globSync("*.yaml", { cwd: folder }).sort())
  test(`the audit of ${name}: no false error, and the same findings as were looked over`, () => {
    const text = readFileSync(join(folder, name), "utf8");
    const result = audit([{ name, text }], options);
    assert.deepEqual(result.failures, []);
    const lines = result.findings.map(
      ({ severity, rule, object, message }) =>
        `${object.kind} ${object.name}: ${severity}: ${message} [${rule}]\n`,
    );
    const file = join(folder, name.replace(".yaml", ".txt"));
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(file, lines.join(""));
    assert.equal(lines.join(""), readFileSync(file, "utf8"));
    assert.deepEqual(
      result.findings.filter(({ severity }) => severity === "error"),
      [],
    );
  });
