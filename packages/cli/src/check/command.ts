import { Command } from "commander";
import { connect, type ConnectionFlags } from "../cluster/connection.ts";
import { operatorNames } from "@lameduck/protocol";
import { exitCodes } from "../exit-codes.ts";
import { ending } from "../help/ending.ts";
import { interruptible } from "../interrupt.ts";
import { checkOutputs, outputFiles, publish } from "../output.ts";
import { Progress } from "../progress.ts";
import { collect, mustBeNamespace } from "../options.ts";
import { checkCluster, type CheckReport } from "./report.ts";
import { checkText } from "./text.ts";

interface Options extends ConnectionFlags {
  readonly enable?: readonly string[];
  readonly json?: string;
}

/** `lameduck check`: what Lameduck would do in a cluster, before it is installed. */
export function checkCommand(exit: (code: number) => void): Command {
  return new Command("check")
    .description(
      "Look at a cluster before Lameduck is installed: who sends to its pods, what pods would get, and how to install it. Changes nothing.",
    )
    .option(
      "--enable <namespace>",
      "look at the pods of this namespace, which `lameduck install` would label; may be repeated (default: all with pods that a Service leads to)",
      collect,
    )
    .addHelpText("after", examples)
    .action(async (options: Options) => exit(await check(options)));
}

async function check(options: Options): Promise<number> {
  const enabled = (options.enable ?? []).map((name) => mustBeNamespace("--enable", name));
  checkOutputs(outputFiles(options, "json"));
  const client = connect(options);
  const { context, kubeconfig, lameduckNamespace: namespace } = options;
  const connectionFlags = [
    ...(namespace === operatorNames.namespace ? [] : ["--lameduck-namespace", namespace]),
    ...(context === undefined ? [] : ["--context", context]),
    ...(kubeconfig === undefined ? [] : ["--kubeconfig", kubeconfig]),
  ];
  return interruptible(client, async (signal) => {
    const progress = new Progress();
    progress.update("reading the cluster");
    const report = await checkCluster(client, { namespace, enabled, connectionFlags }, signal).finally(() =>
      progress.done(),
    );
    publish(() => checkText(report), options, { json: () => `${JSON.stringify(report, undefined, 2)}\n` });
    return exitCodeOf(report);
  });
}

function exitCodeOf({ install, admissions, notKnown }: CheckReport): number {
  if (install.command === null || admissions.some(({ verdict }) => verdict !== "admitted"))
    return exitCodes.losses;
  return notKnown.length > 0 ? exitCodes.untested : exitCodes.clean;
}

const examples = ending(
  `
Examples:
  $ lameduck check
  $ lameduck check --enable shop
  $ lameduck check --json - | jq .install.command

It reads lists, and the settings of some kubelets. It asks the API server by dry
runs whether injected pods would be admitted: of one pod in each namespace,
which is never stored. What may not be read is "not known", with the rights that
would answer.`,
  "0 all is known and nothing stands against it, 1 it cannot be installed, or injected pods would not be admitted as they are, 2 usage, 3 internal, 4 cluster or environment, 5 something is not known, 130 interrupted",
  "docs/tools/check.md",
);
