import { Command } from "commander";
import { printable } from "@lameduck/drain/common";
import { connectToWorkload, type WorkloadFlags } from "../cluster/connection.ts";
import { mustBePodName } from "../end/pod.ts";
import { exitCodes } from "../exit-codes.ts";
import { ending } from "../help/ending.ts";
import { interruptible } from "../interrupt.ts";
import { checkOutputs, outputFiles, publish } from "../output.ts";
import { readKnown, type Known } from "./read.ts";
import { clockOf, reasonsOf, seconds, type Reason } from "./reasons.ts";

interface Options extends WorkloadFlags {
  readonly json?: string;
}

/** `lameduck why`: what a pod waits for that is still there. */
export function whyCommand(exit: (code: number) => void): Command {
  return new Command("why")
    .description(
      "Say why a pod is still there, with Lameduck or without: what it waits for now, for how long at most, and what ends it sooner at which cost. Changes nothing.",
    )
    .argument("<pod>", "name of the pod")
    .addHelpText("after", examples)
    .action(async (pod: string, options: Options) => exit(await why(pod, options)));
}

async function why(target: string, options: Options): Promise<number> {
  const name = mustBePodName(target);
  checkOutputs(outputFiles(options, "json"));
  const { client, namespace } = connectToWorkload(options);
  return interruptible(client, async (signal) => {
    const known = await readKnown(client, { namespace, name }, signal);
    const reasons = reasonsOf(known);
    publish(() => textOf(known, reasons), options, {
      json: () => `${JSON.stringify(documentOf(known, reasons), undefined, 2)}\n`,
    });
    return exitCodeOf(known, reasons);
  });
}

function exitCodeOf({ pod, notRead }: Known, reasons: readonly Reason[]): number {
  const isKnown = notRead.length === 0;
  if (reasons.some(({ until }) => until === null)) return exitCodes.losses;
  if (reasons.length === 0 && pod.metadata.deletionTimestamp !== undefined) return exitCodes.untested;
  return isKnown ? exitCodes.clean : exitCodes.untested;
}

function documentOf({ pod, notRead }: Known, reasons: readonly Reason[]): object {
  const { name, namespace, uid, deletionTimestamp } = pod.metadata;
  return {
    version: 1,
    pod: name,
    namespace,
    uid,
    isTerminating: deletionTimestamp !== undefined,
    reasons: reasons.map(({ until, ...one }) => ({
      ...one,
      ...(until === undefined ? {} : { until: until === null ? null : new Date(until).toISOString() }),
    })),
    notRead,
  };
}

function textOf(known: Known, reasons: readonly Reason[]): string {
  const { pod, notRead } = known;
  const [first, ...others] = reasons;
  const lines = [`${pod.metadata.name}: ${first?.text ?? withoutReason(known)}`];
  if (first) lines.push(...detailsOf(first, known.now));
  for (const one of others) lines.push(`then: ${one.text}`, ...detailsOf(one, known.now));
  for (const one of notRead) lines.push(`not known: ${printable(one)}`);
  return `${lines.join("\n")}\n`;
}

function withoutReason({ pod, now }: Known): string {
  const { deletionTimestamp, deletionGracePeriodSeconds: grace = 0 } = pod.metadata;
  return deletionTimestamp === undefined
    ? "nobody has deleted it, and nothing that can be seen keeps it from being deleted"
    : `it was deleted ${clockOf(Date.parse(deletionTimestamp) - grace * 1_000, now)}; nothing that can be seen says what it waits for`;
}

function* detailsOf({ until, ways }: Reason, now: number): Generator<string> {
  if (until === null) yield "  at most: nothing bounds it";
  else if (until !== undefined) yield `  at most: ${seconds(until - now)} more, until ${clockOf(until, now)}`;
  for (const { command, cost } of ways) {
    yield `  sooner: ${command}`;
    yield `          ${cost}`;
  }
}

const examples = ending(
  `
Examples:
  $ lameduck why web-7d9c-x2x4q -n shop
  $ lameduck why web-7d9c-x2x4q -n shop --json - | jq -r '.reasons[0].cause'

It needs the right to get the pod. With rights to read events, the node, the
pod's log, budgets and the workload it knows more; what it may not read is
"not known".`,
  "0 it ends by itself or nothing holds it, 1 somebody must act, 2 usage, 3 internal, 4 cluster or environment, 5 not all is known",
  "docs/operate/why-is-my-pod-still-there.md",
);
