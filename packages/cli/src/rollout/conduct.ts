import {
  aboutRoute,
  checkRights,
  findTarget,
  inspect,
  neededRules,
  runRollout,
  type RolloutProgress,
  type RolloutSettings,
} from "@lameduck/rollout";
import { checkVersion, KubernetesClient } from "@lameduck/kube";
import { orAborted } from "@lameduck/drain/common";
import { obtainConsent } from "../consent.ts";
import { exitCodes } from "../exit-codes.ts";
import { catchInterrupt } from "../interrupt.ts";
import { teller, type Told } from "../live/tell.ts";
import { Ui } from "../live/ui.ts";
import { rolloutUi } from "./ui.ts";
import { Progress } from "../progress.ts";
import { loadOf, loadRules, openRoutes, requestTimeoutMs } from "./load.ts";
import type { RolloutOptions } from "./options.ts";
import { planLines, rightsText } from "./plan.ts";
import { aboutRun, publish } from "./publish.ts";
import type { RolloutRequest } from "./settings.ts";

/** Checks, asks, rolls, and shows what was seen; returns the exit code. An interrupt keeps what has been seen. */
export async function conduct(request: RolloutRequest, options: RolloutOptions): Promise<number> {
  const progress = new Progress();
  const interrupt = catchInterrupt(() => {
    const undo = request.action.undo?.();
    const left = undo ? `: then ${undo.command} is left to you` : "";
    progress.say(`ending; once more ends at once and leaves things as they are${left}`);
  });
  const client = new KubernetesClient(request.connection);
  const tell = teller(progress, options);
  let hasBegun = false;
  let ui: Ui | undefined;
  try {
    // Nothing is changed before the end of it: what waits then, for a server or a person, need not be waited for.
    const settings = await orAborted(
      prepare(client, request, options, progress, interrupt.signal),
      interrupt.signal,
    );
    if (settings === undefined) return exitCodes.clean;
    const { target } = settings;
    const about = aboutRun(request, options, target);
    if (options.ui) ui = await Ui.open();
    const tellUi = ui && rolloutUi(ui.tell, about, request.action);
    hasBegun = true;
    const run = await runRollout(settings, {
      onProgress: (state) => {
        const now = told(state);
        tell(now);
        tellUi?.(state, now);
      },
      say: (line) => progress.say(line),
      signal: interrupt.signal,
    });
    progress.done();
    if (run.outcome.kind === "failed" && !run.begun) {
      progress.say("nothing was changed");
      throw run.outcome.error;
    }
    const code = publish(run, { request, options, target, about, ui, interrupted: interrupt.exitCode });
    interrupt.release();
    if (!interrupt.signal.aborted) await ui?.stay();
    return code;
  } catch (error) {
    const { aborted, reason } = interrupt.signal;
    // Once it has begun, the interrupt itself is thrown only while pods are listed for the first time.
    if (!aborted || (hasBegun && error !== reason)) throw error;
    progress.say("interrupted; nothing was changed");
    return interrupt.exitCode;
  } finally {
    progress.done();
    client.close();
    await ui?.close();
    interrupt.release();
  }
}

/** @returns undefined for a dry run. */
async function prepare(
  client: KubernetesClient,
  request: RolloutRequest,
  options: RolloutOptions,
  progress: Progress,
  signal: AbortSignal,
): Promise<RolloutSettings | undefined> {
  const { reference, action } = request;
  const rules = neededRules(reference, action, loadRules(request, options));
  // Who lacks a right needs to see which ones to ask for, above all.
  if (options.dryRun) process.stdout.write(rightsText(reference, rules));
  const version = await checkVersion(client, options.inCluster !== undefined);
  const { allowed, warnings } = await checkRights(client, reference, rules);
  const target = await findTarget(client, reference, allowed);
  const notes = [...version, ...warnings, ...(await inspect(client, target, action))];
  for (const line of planLines(request, options, target)) progress.say(line);
  for (const note of notes) progress.say(`note: ${note}`);
  if (options.dryRun) {
    progress.say("dry run: nothing was changed, and no URL was called");
    return undefined;
  }
  const { connection, routes } = request;
  await obtainConsent({
    connection,
    namespaces: [reference.namespace],
    harmless: action.name === "watch" && routes.length === 0,
    yes: options.yes ?? false,
    signal,
  });
  const opened = await openRoutes(request, options, signal);
  for (const note of opened.flatMap((route) => aboutRoute(route))) progress.say(`note: ${note}`);
  return {
    client,
    target,
    action,
    allowed,
    load: loadOf({ client, request, options, target, opened, say: (line) => progress.say(line), signal }),
    warmUpMs: request.warmUp,
    settleMs: request.settle,
    requestTimeoutMs,
    timeoutMs: request.timeout,
  };
}

function told({ stage, words, sent, failed, terminating, byPod, now, podEvents }: RolloutProgress): Told {
  const before = words === "" ? "" : `${words}; `;
  return {
    stage,
    figures: `${before}${sent} sent, ${failed} failed, ${terminating} terminating`,
    byPod,
    now,
    get podEvents() {
      return podEvents();
    },
  };
}
