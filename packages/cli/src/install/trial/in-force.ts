import type { KubernetesClient } from "@lameduck/kube";
import { CliError } from "../../errors.ts";
import { nameOfInjector, type Injector } from "./injector.ts";
import { shownBy, trialText, tried, verdictOf, type TrialOptions } from "./trial.ts";

/**
 * Waits until new pods are injected, whichever API server admits them, as far as pods can be made to see it.
 * @throws {CliError} LAMEDUCK_NOT_READY with how many of the last pods were.
 */
export async function untilInForce(
  client: KubernetesClient,
  injector: Injector,
  options: TrialOptions,
  say: (line: string) => void,
): Promise<void> {
  const name = nameOfInjector(injector);
  if (options.labelled.some(injector.isFor)) say(`${name}: waiting until it is in force`);
  const trial = await tried(client, injector, options);
  if (verdictOf(trial) === "not in force") throw new CliError("LAMEDUCK_NOT_READY", name, shownBy(trial));
  say(trialText(trial));
  if (verdictOf(trial) === "not tried")
    say("note: see with lameduck status that it is in force before you restart pods of a labelled namespace");
}
