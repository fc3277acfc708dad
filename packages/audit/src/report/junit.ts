import { element, escape } from "@lameduck/accounting/markup";
import type { Audit } from "../audit.ts";
import type { Finding } from "../finding.ts";
import { spell, type KubeObject } from "../model/object.ts";
import { rules } from "../rules/index.ts";
import { placeOf, sentenceOf } from "./sentence.ts";

/**
 * JUnit XML: a test case for each workload and rule that found something, and one for each workload that nothing was found of. Errors and
 * warnings fail; what is unknown is an error of the test, since it is no pass.
 */
export function junitReport(audit: Audit): string {
  const { findings, failures, inventory } = audit;
  const byObject = new Map<KubeObject, Finding[]>(inventory.workloads.map(({ object }) => [object, []]));
  for (const finding of findings) byObject.get(finding.object)?.push(finding);
  const cases = [...byObject].flatMap(([object, own]) => casesOf(object, own));
  cases.push(...failures.map(({ code, message }) => caseOf("not read", code, "error", message)));
  const count = (kind: string): number => cases.filter(({ outcome }) => outcome === kind).length;
  const totals = {
    name: "lameduck audit",
    tests: cases.length,
    failures: count("failure"),
    errors: count("error"),
  };
  const suite = element("testsuite", totals, `\n${cases.map(({ text }) => text).join("\n")}\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element("testsuites", totals, `\n${suite}\n`)}\n`;
}

interface Case {
  readonly outcome: "failure" | "error" | undefined;
  readonly text: string;
}

function casesOf(object: KubeObject, findings: readonly Finding[]): Case[] {
  const name = spell(object);
  if (findings.length === 0) return [caseOf(name, `all ${rules.length} rules`, undefined, "")];
  return findings.map((finding) => {
    const { severity, rule } = finding;
    const outcome = severity === "info" ? undefined : severity === "unknown" ? "error" : "failure";
    return caseOf(name, rule, outcome, `${placeOf(finding)}: ${severity}: ${sentenceOf(finding)}`);
  });
}

function caseOf(classname: string, name: string, outcome: Case["outcome"], message: string): Case {
  const content = outcome
    ? [element(outcome, { type: name, message }, escape(message))]
    : message === ""
      ? []
      : [element("system-out", {}, escape(message))];
  return { outcome, text: element("testcase", { classname, name }, ...content) };
}
