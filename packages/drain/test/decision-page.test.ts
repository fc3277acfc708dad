import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { decisionNames, rows } from "@lameduck/options";

const root = new URL("../../../", import.meta.url);
const page = readFileSync(new URL("docs/contributing/decision.md", root), "utf8");
const sources = ["packages/drain/src/**/*.ts", "packages/init/src/decision/*.c"]
  .flatMap((pattern) => globSync(pattern, { cwd: root }))
  .map((path) => readFileSync(new URL(path, root), "utf8"))
  .join("\n");

/** "4_000", "1 / 64" and "1/64" alike: what a value comes to, number by number. */
function numbersIn(text: string): string[] {
  const plain = text.replaceAll(/(?<=\d)[_,](?=\d{3})/g, "");
  return [...plain.matchAll(/-?\d[\d.e-]*(?: ?\/ ?\d+)?/g)].map(([each]) =>
    each.replaceAll(/ |\.0(?=$|\/)/g, ""),
  );
}

const [, table = ""] = page.split("## Constants");
const constants = [...table.matchAll(/^\| `(\w+)` *\| ([^|]*) \|/gm)].map(([, name = "", value = ""]) => ({
  name,
  value,
}));

test("docs/contributing/decision.md has the constants of the code", () => {
  assert.ok(constants.length > 30);
  for (const { name, value } of constants) {
    const inCode = [...sources.matchAll(new RegExp(`\\b${name}(?:: number)? ?[=:]([^;\\n]*)`, "g"))];
    const option = decisionNames.find((each) => each === name);
    const values = [...inCode.map(([, code = ""]) => code), String(option && rows[option].default)].map(
      (code) => numbersIn(code).join(" "),
    );
    assert.ok(
      values.includes(numbersIn(value).join(" ")),
      `${name} is ${value}; in code ${values.join(" or ")}`,
    );
  }
});

test("the rule fits one screen, and every constant that it names is in the table", () => {
  const [, rest = ""] = page.split("## The rule\n");
  const [rule = ""] = rest.split("\nThe formula of 6");
  assert.ok(rule.trim().split("\n").length <= 45);
  const known = new Set([
    ...constants.map(({ name }) => name),
    "prestop",
    "learn",
    "released",
    "unreleased",
    "assumed",
  ]);
  for (const [, name = ""] of rule.matchAll(/`(\w+)`/g)) assert.ok(known.has(name), `${name} has no row`);
});
