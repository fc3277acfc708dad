import { Command } from "commander";
import { printable } from "@lameduck/drain/common";
import { connectToWorkload, type WorkloadFlags } from "../cluster/connection.ts";
import { exitCodes } from "../exit-codes.ts";
import { ending } from "../help/ending.ts";
import { interruptible } from "../interrupt.ts";
import { checkOutputs, outputFiles, publish } from "../output.ts";
import { Progress } from "../progress.ts";
import { endHolds, type ContainerEnd, type PodEnd } from "./end.ts";
import { mustBePodName } from "./pod.ts";

interface Options extends WorkloadFlags {
  readonly json?: string;
}

/** `lameduck end`: ends the holds of a terminating pod now. */
export function endCommand(exit: (code: number) => void): Command {
  return new Command("end")
    .description(
      "End the holds of a terminating pod now: by the coordinator, else by lameduck-init or a shell in its containers. Requests in flight still finish.",
    )
    .argument("<pod>", "name of the pod, which is being deleted")
    .addHelpText("after", examples)
    .action(async (pod: string, options: Options) => exit(await end(pod, options)));
}

async function end(target: string, options: Options): Promise<number> {
  const name = mustBePodName(target);
  checkOutputs(outputFiles(options, "json"));
  const { client, namespace } = connectToWorkload(options);
  const progress = new Progress();
  return interruptible(client, async (signal) => {
    try {
      const result = await endHolds(client, { namespace, name }, (text) => progress.update(text), signal);
      progress.done();
      const code = exitCodeOf(result);
      publish(() => textOf(result, code), options, {
        json: () => `${JSON.stringify({ version: 1, ...result }, undefined, 2)}\n`,
      });
      return code;
    } finally {
      progress.done();
    }
  });
}

/** A hold that the coordinator has ended is no longer there when it is looked for. */
function isOver({ outcome, by }: ContainerEnd): boolean {
  return outcome === "ended" || (outcome === "nothing-held" && by === "coordinator");
}

/** What cannot be told is not passed. */
function exitCodeOf({ containers }: PodEnd): number {
  if (containers.some(({ outcome }) => outcome === "not-ended")) return exitCodes.losses;
  if (!containers.some(isOver)) return exitCodes.losses;
  return containers.some(({ outcome }) => outcome === "unknown") ? exitCodes.untested : exitCodes.clean;
}

function textOf(result: PodEnd, code: number): string {
  const { pod, containers } = result;
  const lines = containers.map((one) => `${one.container}: ${words(one)}`);
  if (containers.length === 0) lines.push(`pod/${pod}: none of its containers runs any more`);
  else if (code !== exitCodes.clean) lines.push(...otherwise(result));
  return `${lines.map(printable).join("\n")}\n`;
}

/** What can still be done where no program in the pod can be told. The kubelet goes on with a termination as it has begun it: docs/evidence/kubelet.md. */
function* otherwise({ namespace, pod, node, graceEnds, containers }: PodEnd): Generator<string> {
  yield `It ends at ${graceEnds ?? "the end of its grace period"} at the latest: no deletion shortens a termination that has begun.`;
  yield `kubectl delete pod ${pod} -n ${namespace} --grace-period=0 --force removes its object at once; its containers run on until then, unseen.`;
  const ids = containers.filter((one) => !isOver(one)).map(({ id }) => id);
  yield `On node ${node ?? "(unknown)"}, crictl stop --timeout 0 ${ids.join(" ")} ends them: requests in flight are lost, and so are those that still come.`;
}

function words({ outcome, by, holds = [], problem = "", reason }: ContainerEnd): string {
  if (outcome === "unknown") return `not known: ${problem}`;
  if (outcome === "nothing-held" && by === "coordinator")
    return "holds nothing any more: the coordinator was asked";
  if (outcome === "nothing-held")
    return reason === undefined ? "holds nothing" : `holds nothing: its hold had ended before (${reason})`;
  const details = holds.flatMap(({ program, pid, hold_ms: held }) =>
    program === undefined || pid === undefined
      ? []
      : [`${program}, PID ${pid}${held === undefined ? "" : `, after ${(held / 1_000).toFixed(1)} s`}`],
  );
  const whose = details.length > 0 ? details.join("; ") : by === "coordinator" ? "by the coordinator" : "";
  const what = outcome === "ended" ? "ended" : "told, and not ended within 5 s";
  return whose === "" ? what : `${what}: ${whose}`;
}

const examples = ending(
  `
Examples:
  $ lameduck end web-7d9c-x2x4q -n shop
  $ lameduck end web-7d9c-x2x4q -n shop --json -

It needs the right to get the pod, and either to patch it, for the coordinator,
or to get and create pods/exec. A second \`kubectl delete\`, with a shorter grace period
or with --force, does not end a hold.`,
  "0 ended, 1 nothing was held or not ended, 2 usage, 3 internal, 4 cluster or environment, 5 not known of a container",
  "docs/reference/init.md",
);
