import { shownUrl } from "@lameduck/load";
import { buildResults, htmlReport } from "@lameduck/accounting";
import {
  nameOf,
  observedFacts,
  rolloutConclusion,
  rolloutNotes,
  rolloutResult,
  type RolloutOutcome,
  type RolloutRun,
  type Target,
} from "@lameduck/rollout";
import { exitCodeOfResults, exitCodes } from "../exit-codes.ts";
import { report } from "../failure.ts";
import { ranOn } from "../ran-on.ts";
import type { About } from "../live/known.ts";
import type { Ui } from "../live/ui.ts";
import { publishResults } from "../results.ts";
import { version } from "../about.ts";
import { seed } from "./load.ts";
import type { RolloutOptions } from "./options.ts";
import type { RolloutRequest } from "./settings.ts";

export interface Publication {
  readonly request: RolloutRequest;
  readonly options: RolloutOptions;
  readonly target: Target;
  readonly about: About;
  readonly ui: Ui | undefined;
  /** The exit code of an interrupted run. */
  readonly interrupted: number;
}

/** What is known of the results before anything is seen. */
export function aboutRun(
  { action, connection, reference, routes }: RolloutRequest,
  options: RolloutOptions,
  target: Target,
): About {
  return {
    tool: "rollout",
    version: version(),
    startedAt: new Date(),
    seed,
    ranOn: ranOn(),
    settings: {
      target: {
        kind: reference.kind,
        name: reference.name,
        namespace: reference.namespace,
        replicas: target.replicas,
      },
      context: connection.context,
      action: action.name,
      routes: routes.map(({ name, url }) => ({ name, url: shownUrl(url) })),
      load: { rate: options.rps, pooled: options.pooled },
    },
  };
}

/** Shows and writes what was seen, says how it ended, and returns the exit code. */
export function publish(run: RolloutRun, publication: Publication): number {
  const { request, options, target, about, ui, interrupted } = publication;
  const result = rolloutResult(run, { action: request.action, seed });
  const results = buildResults({
    ...about,
    settings: { ...about.settings, observed: observedFacts(run) },
    remedies: [result],
  });
  const instead = {
    title: "target",
    notes: rolloutNotes(run),
    conclusion: rolloutConclusion(result, target),
  };
  // What remains on the cluster is reported first, even if an output can no longer be written.
  if (run.undone !== undefined) process.stderr.write(`${run.undone}\n`);
  const left = run.left === undefined ? undefined : report(run.left);
  ui?.tell({ type: "final", html: htmlReport(results, instead) });
  publishResults(results, options, { instead, unfinished: unfinished(run.outcome) });
  const ended = sayOutcome(run.outcome, target, interrupted) ?? exitCodeOfResults([result], options);
  const worse = ended !== exitCodes.clean && ended !== exitCodes.untested;
  return worse ? ended : (left ?? ended);
}

/** @returns the exit code of a rollout that did not finish; undefined for one that did. */
function sayOutcome(outcome: RolloutOutcome, target: Target, interrupted: number): number | undefined {
  const name = nameOf(target.reference);
  switch (outcome.kind) {
    case "finished":
      return undefined;
    case "not finished":
      process.stderr.write(`the rollout of ${name} did not finish: ${outcome.words}\n`);
      for (const reason of outcome.waiting) process.stderr.write(`  ${reason}\n`);
      return exitCodes.environment;
    case "interrupted":
      process.stderr.write(`interrupted: ${outcome.words}\n`);
      return interrupted;
    case "failed":
      return report(outcome.error);
  }
}

function unfinished(outcome: RolloutOutcome): string | undefined {
  if (outcome.kind === "finished") return undefined;
  return `${outcome.kind}: ${outcome.kind === "failed" ? outcome.error.message : outcome.words}`;
}
