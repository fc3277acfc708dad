import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Ajv, type ValidateFunction } from "ajv";
import {
  audit,
  githubReport,
  htmlReport,
  jsonReport,
  junitReport,
  markdownReport,
  sarifReport,
  textReport,
  type Audit,
} from "../src/index.ts";
import { options } from "./options.ts";

const golden = join(import.meta.dirname, "golden");

function auditOf(...texts: string[]): Audit {
  return audit(
    texts.map((text, index) => ({ name: `dir/file ${index}.yaml`, text })),
    options,
  );
}

const whole = auditOf(
  ...globSync("*/bad*.yaml", { cwd: golden }).map((path) => readFileSync(join(golden, path), "utf8")),
  "kind: Pod\nmetadata: {{ .Values.name }}\n",
);

function sarifSchema(): ValidateFunction {
  const require = createRequire(import.meta.url);
  const schema = require("@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json") as Record<
    string,
    unknown
  >;
  // What draft 4 calls itself has other names since.
  const { $schema: _, id: __, ...rest } = schema;
  return new Ajv({ strict: false, validateFormats: false, allErrors: true, unicodeRegExp: false }).compile(
    rest,
  );
}

describe("reports", () => {
  test("the SARIF report is valid by the schema of 2.1.0, and each result has a region and a fingerprint", () => {
    const validate = sarifSchema();
    const document = JSON.parse(
      sarifReport(whole, "1.2.3", (id) => `https://home.example/docs/audit/${id}.md`),
    ) as {
      runs: {
        results: {
          locations: { physicalLocation: { region: Record<string, number> } }[];
          partialFingerprints: object;
        }[];
      }[];
    };
    assert.ok(validate(document), JSON.stringify(validate.errors, undefined, 1));
    assert.ok((document.runs[0]?.results.length ?? 0) > 40);
    for (const { locations, partialFingerprints } of document.runs[0]?.results ?? []) {
      assert.ok((locations[0]?.physicalLocation.region["startLine"] ?? 0) >= 1);
      assert.ok(Object.keys(partialFingerprints).length > 0);
    }
    assert.ok(!validate({ ...document, version: "2.0.0" }), "the schema would find a fault");
  });

  test("the JSON report holds every finding with place, arithmetic and fingerprint, and what was not read", () => {
    const { findings, notRead, totals } = JSON.parse(jsonReport(whole)) as {
      findings: { at: { line: number; column: number }; fingerprint: string }[];
      notRead: { code: string }[];
      totals: Record<string, number>;
    };
    assert.equal(findings.length, whole.findings.length);
    assert.equal(notRead[0]?.code, "LAMEDUCK_MANIFEST_TEMPLATE");
    assert.equal(totals["error"], whole.findings.filter(({ severity }) => severity === "error").length);
    for (const { at, fingerprint } of findings)
      assert.ok(at.line >= 1 && at.column >= 1 && fingerprint.length === 32);
  });

  test("the marked part of each excerpt is what its finding is about", () => {
    const lines = textReport(whole).split("\n");
    const carets = lines.filter((line) => /^ +\| *\^~*$/.test(line));
    assert.equal(carets.length, whole.findings.length);
  });

  test("the text report of many findings begins with namespaces and rules, and a screen shows the worst whole and the others as a line each", () => {
    const text = textReport(whole);
    assert.match(
      text,
      /^\d+ errors, .* workloads\.[^\n]*\n\nnamespace +workloads +error +warning +note +unknown\n/,
    );
    assert.match(text, /\nrule +workloads +error +warning +note +unknown\n[a-z-]+ +\d+ /);
    const screen = textReport(whole, process.stdout).split("\n");
    const heads = screen.filter((line) =>
      /^[^ ].*: (?:error|warning|note|unknown): .* \[[a-z-]+\]$/.test(line),
    );
    assert.equal(heads.length, whole.findings.length, "each is named");
    assert.equal(screen.filter((line) => /^ +\| *\^~*$/.test(line)).length, 20);
    const few = { ...whole, findings: whole.findings.slice(0, 30) };
    assert.doesNotMatch(textReport(few), /^namespace/m);
  });

  test("the HTML report is one file without a script, and holds every finding under its rule", () => {
    const html = htmlReport(whole, (id) => `https://home.example/${id}`);
    assert.doesNotMatch(html, /<script|<link|src=/);
    assert.equal(html.match(/<h3>/g)?.length, whole.findings.length);
    for (const rule of new Set(whole.findings.map((one) => one.rule)))
      assert.ok(html.includes(`<section id="${rule}">`) && html.includes(`href="#${rule}"`), rule);
    assert.match(html, /LAMEDUCK_MANIFEST_TEMPLATE/, "what was not read");
  });

  test("names from manifests are no markup, no workflow command and no XML in a report", () => {
    const hostile = 'x"]]><b>::error::|`*\n@all';
    const text = JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: hostile },
      spec: { containers: [{ name: hostile, image: hostile, ports: [{ containerPort: 1 }] }] },
    });
    const result = auditOf(text);
    assert.ok(result.findings.length > 0);
    assert.ok(!/<b>/.test(junitReport(result)));
    assert.ok(!/<b>/.test(htmlReport(result, (id) => id)));
    for (const line of githubReport(result).trimEnd().split("\n").slice(0, -1))
      assert.match(line, /^::(?:error|warning|notice) /);
    assert.ok(!/[^\\]<b>|[^\\]@all/.test(markdownReport(result)));
  });
});
