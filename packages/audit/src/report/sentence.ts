import type { Finding } from "../finding.ts";
import { spell } from "../model/object.ts";
import { ruleNamed } from "../rules/index.ts";

/** file:line:column; of an object of a cluster its name and the path of the field. */
export function placeOf({ at, object }: Finding): string {
  return isLive(at.source.file) ? `${spell(object)}: ${at.path}` : at.place;
}

/** Objects of a cluster have no lines of their own. */
export function isLive(file: string): boolean {
  return file.startsWith("cluster:");
}

/** "Deployment shop/web, container app" */
export function whoseOf({ object, container }: Finding): string {
  return `${spell(object)}${container === undefined ? "" : `, container ${container}`}`;
}

/** What to do, or how to answer what is unknown. */
export function nextStepOf({ answers, remedy, rule }: Finding): string {
  if (answers) return `answer: ${answers.join(", or ")}`;
  // On the rule's page it begins a sentence.
  return `do: ${remedy ?? ruleNamed(rule)?.remedy.replace(/^[A-Z]/, (letter) => letter.toLowerCase()) ?? ""}`;
}

/** The whole finding in one line, for formats that have one line for each. */
export function sentenceOf(finding: Finding): string {
  const sum = finding.arithmetic ? ` (${finding.arithmetic.sum})` : "";
  return `${whoseOf(finding)}: ${finding.message}${sum}; ${nextStepOf(finding)}`;
}
