import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { defaultSettings } from "../src/index.ts";
import { reasonCodes } from "../src/injection.ts";
import { settingFields, settingNames } from "../src/policy/fields.ts";

const page = readFileSync(join(import.meta.dirname, "../../../docs/inject.md"), "utf8");

/** Cells of each row of a table. */
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("|"))
  .map((line) => line.split("|").map((cell) => cell.trim().replaceAll("`", "")));

describe("docs/inject.md", () => {
  it("docs/inject.md lists every reason with its meaning", () => {
    for (const [code, meaning] of Object.entries(reasonCodes))
      assert.ok(
        rows.some(([, first, second]) => first === code && second === meaning),
        code,
      );
  });

  it("docs/inject.md lists every setting, where the setting may stand, and its default", () => {
    for (const name of settingNames) {
      const { inPolicy, annotation, does } = settingFields[name];
      const value = defaultSettings[name];
      const row = [
        inPolicy ? name : "",
        annotation ? `lameduck.dev/${annotation}` : "",
        value === undefined ? "" : String(value),
        does,
      ];
      assert.ok(
        rows.some((cells) => JSON.stringify(cells.slice(1, 5)) === JSON.stringify(row)),
        JSON.stringify(row),
      );
    }
  });
});
