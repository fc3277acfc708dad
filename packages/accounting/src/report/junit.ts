import { count, whole } from "../words.ts";
import type { RemedyResult, Results } from "../model/results.ts";
import { advice } from "./advice.ts";
import { causesOf, type Wording } from "./explanations.ts";
import { lostOf, testedOf, titleOf } from "./figures.ts";
import { element, escape } from "./markup.ts";
import { overran, untestedBecause } from "./reservations.ts";
import { heldAgainstPods, verdictOf } from "./verdict.ts";

interface JunitOptions {
  /** Losses were allowed: they are listed and fail no test case. */
  readonly allowLoss?: boolean | undefined;
  /** Why the run did not come to its end, if it did not. */
  readonly unfinished?: string | undefined;
  readonly instead?: Wording;
}

/**
 * The results as JUnit XML, which pipelines show: a test case per remedy. Lost requests and SIGKILL are a failure, a termination of which nothing is
 * known is an error, a remedy that could not be run is skipped.
 */
export function junitReport(results: Results, options: JunitOptions = {}): string {
  const { tool, remedies, startedAt, version, seed } = results;
  const outcomes = remedies.map((result) => outcomeOf(result, options));
  const count = (kind: Outcome["kind"]): number => outcomes.filter((one) => one?.kind === kind).length;
  const totals = {
    name: `lameduck ${tool}`,
    tests: remedies.length,
    failures: count("failure"),
    errors: count("error"),
    skipped: count("skipped"),
    time: seconds(remedies.reduce((sum, { duration }) => sum + duration, 0)),
  };
  const cases = remedies.map((result, index) => {
    const { kind, type, message, text = "" } = outcomes[index] ?? {};
    return element(
      "testcase",
      { classname: `lameduck.${tool}`, name: titleOf(result), time: seconds(result.duration) },
      ...(kind === undefined ? [] : ["\n", element(kind, { type, message }, escape(text))]),
      "\n",
      element("system-out", {}, escape(summaryOf(result))),
      "\n",
    );
  });
  const properties = Object.entries({ version, seed: String(seed) }).map(([name, value]) =>
    element("property", { name, value }),
  );
  const parts = [
    element("properties", {}, ...properties),
    ...cases,
    element("system-out", {}, escape(options.instead?.conclusion ?? advice(remedies))),
  ];
  const { skipped, ...suites } = totals;
  const suite = element("testsuite", { ...suites, skipped, timestamp: startedAt }, `\n${parts.join("\n")}\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element("testsuites", suites, `\n${suite}\n`)}\n`;
}

interface Outcome {
  readonly kind: "failure" | "error" | "skipped";
  readonly type: string;
  readonly message: string;
  readonly text?: string;
}

/** undefined for what passes. What ended the run early comes first, as for the exit code. */
function outcomeOf(
  result: RemedyResult,
  { allowLoss = false, unfinished }: JunitOptions,
): Outcome | undefined {
  const { skipped, untested = 0, terminations } = result;
  if (skipped !== undefined) return { kind: "skipped", type: "skipped", message: skipped };
  if (unfinished !== undefined) return { kind: "error", type: "unfinished", message: unfinished };
  const { lost } = heldAgainstPods(result);
  if (lost > 0 && !allowLoss)
    return {
      kind: "failure",
      type: "loses",
      message: `${lostOf(result)} of ${count(result.sent, "request")} lost in ${count(testedOf(result), "termination")}`,
      text: whyText(result),
    };
  if (result.killed > 0 && !allowLoss) return { kind: "failure", type: "overruns", message: overran(result) };
  if (verdictOf(result) === "untested" || untested > 0)
    return {
      kind: "error",
      type: "untested",
      message:
        terminations === 0
          ? "no pod was terminated"
          : result.each.some((one) => one.untested !== undefined)
            ? `${whole(untested)} of ${count(terminations, "termination")} ${untested === 1 ? "is" : "are"} untested: ${untestedBecause(result)}`
            : `no load went through ${whole(Math.max(untested, result.sent === 0 ? terminations : 0))} of ${count(terminations, "termination")}`,
    };
  return undefined;
}

function summaryOf(result: RemedyResult): string {
  const figures = `${result.description}: ${verdictOf(result)}; ${lostOf(result)} of ${count(result.sent, "request")} lost`;
  return `${figures} in ${whole(testedOf(result))} tested terminations, ${whole(result.killed)} killed`;
}

function whyText(result: RemedyResult): string {
  const { shown, rest } = causesOf(result);
  return [
    ...shown.map(({ lost, words, example }) => `${whole(lost)} ${words}\n  e.g. ${example}`),
    ...(rest > 0 ? [`${whole(rest)} by other causes`] : []),
  ].join("\n");
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1_000).toFixed(3);
}
