import { Command } from "commander";
import { ApiFailure } from "@lameduck/kube";
import { exitCodes } from "../exit-codes.ts";
import { ending } from "../help/ending.ts";
import { interruptible } from "../interrupt.ts";
import { mustBeNamespace } from "../options.ts";
import { checkOutputs, outputFiles, publish, say } from "../output.ts";
import { connect, type ConnectionFlags } from "../cluster/connection.ts";
import { mustBeIn } from "../install/place.ts";
import { verdictOf } from "../install/trial.ts";
import { areWorking } from "./coordinator.ts";
import { readStatus, type Status } from "./read.ts";
import { statusText } from "./text.ts";

interface Options extends ConnectionFlags {
  readonly namespace?: string;
  readonly json?: string;
  readonly pods?: boolean;
}

/** `lameduck status`: what is on where, and which pods run without it and why. */
export function statusCommand(exit: (code: number) => void): Command {
  return new Command("status")
    .description(
      "Show where Lameduck is enabled, which pods run with it, and why others run without it. Changes nothing.",
    )
    .option(
      "--pods",
      "also list the pods that terminate now: since when, whom they wait for, and for how long at most",
    )
    .addHelpText("after", examples)
    .action(async (options: Options) => exit(await status(options)));
}

async function status(options: Options): Promise<number> {
  const { namespace, lameduckNamespace } = options;
  if (namespace !== undefined) mustBeNamespace("--namespace", namespace);
  checkOutputs(outputFiles(options, "json"));
  const client = connect(options);
  return interruptible(client, async (signal) => {
    if (namespace === undefined) await mustBeIn(client, lameduckNamespace);
    const read = await readStatus(client, namespace ?? lameduckNamespace, options, signal).catch(
      (error: unknown) => {
        if (error instanceof ApiFailure && error.status === 403)
          say("note: lameduck status -n NAMESPACE looks at one namespace, with the rights of its tenants");
        throw error;
      },
    );
    publish(() => statusText(read), options, { json: () => `${JSON.stringify(read, undefined, 2)}\n` });
    return isAsItShould(read) ? exitCodes.clean : exitCodes.losses;
  });
}

function isAsItShould({ operator, policy, webhook, trials, namespaces, ...status }: Status): boolean {
  const { isOfTenant, acknowledgements } = status;
  const isOn = isOfTenant || policy || (operator !== undefined && operator.ready > 0 && webhook === "called");
  const isInForce = trials.every((trial) => verdictOf(trial) !== "not in force");
  const hooksWork = namespaces.every(
    ({ initVolume, needsInitVolume }) => initVolume === "usable" || !needsInitVolume,
  );
  return (
    isOn &&
    isInForce &&
    hooksWork &&
    (acknowledgements === undefined || areWorking(acknowledgements)) &&
    namespaces.every(({ pods }) =>
      pods.every(({ isOlder, asksNobody }) => !isOlder && !(asksNobody && acknowledgements?.isTold)),
    )
  );
}

const examples = ending(
  `
Examples:
  $ lameduck status
  $ lameduck status --pods
  $ lameduck status -n shop                          one namespace, with the rights of its tenants
  $ lameduck status --json - | jq '.namespaces[].name'`,
  "0 all is well, 1 not installed, not ready, not in force, acknowledgements that do not work or cannot be asked, hooks that lack lameduck-init, or pods that would get Lameduck or a coordinator only by a restart, 2 usage, 3 internal, 4 cluster or environment",
  "docs/operate/install.md",
);
