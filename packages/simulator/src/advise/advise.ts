import type { DrainOptions } from "@lameduck/drain";
import { count } from "@lameduck/accounting/words";
import { meanOf } from "@lameduck/load/propagation";
import { defaultAcknowledgements } from "../model/acknowledgements.ts";
import { sendingOf, type Scenario } from "../model/scenario.ts";
import type { Outcome } from "../model/termination.ts";
import { simulateWorld } from "../model/world.ts";
import { runInParallel } from "../parallel/run.ts";
import { drained, withCoordinator, slept } from "../policies/drained.ts";
import { meanConvergence, oraclesOf, type Run, rolloutTime } from "../run.ts";
import { interval, mean, quantile, type Interval } from "../simulate/statistics.ts";
import { number } from "../simulate/text.ts";

export interface Advice {
  readonly schema: "lameduck.advice/v1";
  readonly scenario: Scenario;
  readonly seed: number;
  /** Milliseconds throughout, maxSurge in pods. */
  readonly recommended: {
    readonly policy: "adaptive";
    readonly floor: number;
    readonly cap: number;
    readonly reserve: number;
    readonly grace: number;
    readonly convergence: number;
    /** Undefined where pods are replaced in place. */
    readonly maxSurge?: number;
  };
  readonly expected: Prediction;
  /** The same for what most people do. */
  readonly instead: readonly (Prediction & { readonly policy: string })[];
  /** One line per number: where it comes from. */
  readonly arithmetic: readonly string[];
  /** What the sources leave open, one sentence each with the flag that answers it: assumed as the scenario says. */
  readonly unknown: readonly string[];
}

export interface Prediction {
  readonly lostPerTermination: Interval;
  readonly lostPerRollout: number;
  readonly hold: { readonly mean: number; readonly p99: number };
  readonly rolloutTime: number;
}

interface AdviseOptions {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly unknown?: readonly string[];
}

/** The row of the same settings where consumers report. */
const acknowledged = "with acknowledgements";

const defaultFloorMs = 1_000;
const defaultGraceMs = 30_000;
/** Beyond this a pod in lame duck is a cost that people refuse; the advice says what is lost then. */
const longestHoldMs = 300_000;
/** A shorter cap is worth a line only if it saves this much of a hold on average. */
const leastSavingMs = 100;
/** Losses per termination that differ by less are called equal. */
const leastLoss = 0.001;

/** Recommends settings for a scenario, and says what they cost. */
export async function advise({ scenario, seed, unknown = [] }: AdviseOptions): Promise<Advice> {
  // First without limits: how long would the rule hold if it could?
  const free = { ...scenario, pod: { ...scenario.pod, grace: 2 * longestHoldMs, reserve: 0 } };
  const world = simulateWorld(free, seed);
  const oracles = oraclesOf(free, world, seed).sort((a, b) => a - b);
  const convergence = roundUp(Math.max(1_000, meanConvergence(free, world)), 500);
  const senders = sendingOf(scenario);
  const rate = scenario.traffic.perPod / 1_000;
  const evidence = (rate * convergence) / senders;
  // Where a sender sends less than one request while it converges, silence says nothing, and the floor must carry the hold.
  const floor = evidence < 1 ? roundUp(quantile(oracles, 0.99), 1_000) : defaultFloorMs;
  const reserve = roundUp(Math.max(5_000, 3 * meanOf(scenario.traffic.service)), 1_000);
  const unbounded = { grace: 2 * longestHoldMs, reserve: 0, floor, convergence } satisfies DrainOptions;
  const held = await runInParallel(free, [drained("adaptive", unbounded)], { seed, world });
  const holds = held.outcomes[0]!.map(({ hold }) => hold).sort((a, b) => a - b);
  // The rule also waits for tails that this environment does not have: a quarter more than its slowest convergence is enough, if the model is right.
  const converged = roundUp(Math.max(floor, 1.25 * quantile(oracles, 1)), 100);
  const longest = evidence < 1 ? converged : Math.min(converged, quantile(holds, 0.99));
  const needed = Math.min(longestHoldMs, roundUp(Math.max(longest, floor + 1_000), 1_000));
  const { prestop } = scenario.pod;
  const least = Math.max(defaultGraceMs, roundUp(prestop + needed + reserve, 5_000));
  // A longer grace period is kept: what pods do at their end is only assumed here.
  const grace = Math.max(scenario.pod.grace, least);
  const { acknowledgements = defaultAcknowledgements } = scenario;
  const settled = { ...scenario, acknowledgements, pod: { ...scenario.pod, grace, reserve } };
  // Where silence is evidence, the cap keeps all the time of the grace period, in case the environment is slower than the model.
  const cap = evidence < 1 ? needed : grace - prestop - reserve;
  const adaptive: DrainOptions = { grace, prestop, reserve, floor, convergence, cap };
  // Where silence says nothing, reports replace the floor.
  const settings =
    evidence < 1 ? ({ ...adaptive, floor: defaultFloorMs, policy: "acknowledged" } as const) : adaptive;
  const unreported = scenario.senders.filter(({ reports = true }) => !reports).map(({ name }) => name);
  const slept5 = 5_000;
  const slept15 = 15_000;
  // As long as the same, in whole seconds as `sleep` has them.
  const tuned = roundUp(converged, 1_000);
  const contenders = [
    drained("adaptive", adaptive),
    slept("nothing", { grace, prestop, reserve }, 0),
    slept("sleep 5", { grace, prestop, reserve }, slept5),
    slept("sleep 15", { grace, prestop, reserve }, slept15),
    ...([slept5, slept15].includes(tuned) || tuned > grace - prestop - reserve
      ? []
      : [slept(`sleep ${tuned / 1_000}`, { grace, prestop, reserve }, tuned)]),
    ...(evidence >= 1 && converged < cap
      ? [drained(`cap ${s(converged)}`, { ...adaptive, cap: converged })]
      : []),
    ...(unreported.length > 0 ? [] : [withCoordinator(acknowledged, settings)]),
  ];
  const played = await runInParallel(settled, contenders, { seed });
  const [expected, ...others] = played.outcomes.map((outcomes) => predict(outcomes, played, seed));
  const instead = others.map((prediction, index) => ({ policy: contenders[index + 1]!.name, ...prediction }));
  const capped = instead.find(({ policy }) => policy.startsWith("cap "));
  // Advice that shortens nothing is not given.
  const saves = capped !== undefined && capped.hold.mean < expected!.hold.mean - leastSavingMs;
  const asGood = instead
    .filter(
      ({ policy, hold, lostPerTermination }) =>
        policy.startsWith("sleep ") &&
        hold.mean <= expected!.hold.mean &&
        lostPerTermination.mean <= expected!.lostPerTermination.mean + leastLoss,
    )
    .sort((a, b) => a.hold.mean - b.hold.mean)[0];
  const slowest = `a quarter more than the slowest convergence simulated, ${s(quantile(oracles, 1))}`;
  const surge = surgeFor(scenario, expected!.hold.mean);
  return {
    schema: "lameduck.advice/v1",
    scenario,
    seed,
    recommended: {
      policy: "adaptive",
      floor,
      cap,
      reserve,
      grace,
      convergence,
      ...(surge.pods === undefined ? {} : { maxSurge: surge.pods }),
    },
    expected: expected!,
    instead: instead.filter(
      (prediction) =>
        (prediction !== capped || saves) &&
        (prediction === asGood ||
          !prediction.policy.startsWith("sleep ") ||
          ["sleep 5", "sleep 15"].includes(prediction.policy)),
    ),
    arithmetic: [
      `convergence ${s(convergence)}: mean over ${count(senders, "sender")} and ${count(scenario.terminations, "simulated termination")}`,
      evidence < 1
        ? `floor ${s(floor)}: a sender makes ${(rate * convergence).toFixed(2)}/${senders} = ${+evidence.toPrecision(2)} connections before it stops sending, so silence says nothing; in 99 % of terminations all have stopped by ${s(quantile(oracles, 0.99))}`
        : `floor ${s(floor)}: the default; a sender makes ${+evidence.toPrecision(2)} connections before it stops sending, so silence soon tells`,
      `reserve ${s(reserve)}: at least 5 s, three mean requests of ${s(meanOf(scenario.traffic.service))}`,
      evidence < 1
        ? `cap ${s(cap)}: ${slowest}`
        : `cap ${s(cap)}: all that the grace period leaves, for the day on which this environment is slower` +
          (saves ? `. If it never is, cap ${s(converged)} shortens holds: ${slowest}` : ""),
      ...(asGood
        ? [
            `${asGood.policy} is as good here, if this model is right: it holds ${s(asGood.hold.mean)} where the rule holds ${s(expected!.hold.mean)}, and loses no more. It does not cover withdrawals that come late: after "informer cache is out of date" the EndpointSlice controller retries after 1 s, 2 s, 4 s and so on`,
          ]
        : []),
      `grace ${s(grace)}: ${grace > least ? `as it is set; needed are ${s(least)}: ` : ""}preStop ${s(prestop)} + longest hold ${s(needed)} + reserve ${s(reserve)}, rounded up to 5 s, at least Kubernetes' ${s(defaultGraceMs)}`,
      surge.why,
      unreported.length > 0
        ? `acknowledgements would change nothing: nobody reports for ${unreported.join(", ")}, so the pod's own evidence decides`
        : acknowledgementsText(scenario, settings.policy ?? "adaptive", expected!, instead.at(-1)!),
    ],
    unknown,
  };
}

/** What `lameduck install --acknowledgements` would buy. */
function acknowledgementsText(
  { senders }: Scenario,
  policy: string,
  without: Prediction,
  having: Prediction,
): string {
  const lost = (one: Prediction): string => number(one.lostPerTermination.mean);
  return `acknowledgements (lameduck install --acknowledgements, policy ${policy}) would hold ${s(having.hold.mean)} instead of ${s(without.hold.mean)} and lose ${lost(having)} instead of ${lost(without)} a termination. Somebody must report for each sender: ${senders.map(({ name }) => name).join(", ")}`;
}

function predict(outcomes: readonly Outcome[], played: Run, seed: number): Prediction {
  const lost = outcomes.map(({ expectedLost, losses }) => expectedLost + losses.keepAlive + losses.inFlight);
  const holds = outcomes.map(({ hold }) => hold).sort((a, b) => a - b);
  return {
    lostPerTermination: interval(lost, seed),
    lostPerRollout: mean(lost) * played.scenario.replicas,
    hold: { mean: mean(holds), p99: quantile(holds, 0.99) },
    rolloutTime: rolloutTime(outcomes, played),
  };
}

/** Terminating pods do not count against maxSurge, but they take room: as many as are deleted in one hold. */
function surgeFor(scenario: Scenario, hold: number): { pods: number | undefined; why: string } {
  const { rollout } = scenario;
  const ready = rollout.kind === "isolated" ? 5_000 : meanOf(rollout.ready);
  if (rollout.kind === "in-place") {
    const rounds = Math.ceil(scenario.replicas / rollout.slots);
    return {
      pods: undefined,
      why: `maxSurge: none, this ${rollout.workload} replaces ${rollout.slots} at a time in place; a rollout takes ${rounds} x (hold ${s(hold)} + ready ${s(ready)}) = ${s(rounds * (hold + ready))}`,
    };
  }
  const pods = Math.max(1, Math.ceil(scenario.replicas / 4));
  const rounds = Math.ceil(scenario.replicas / pods);
  const terminating = Math.min(scenario.replicas, Math.ceil((pods / ready) * hold));
  return {
    pods,
    why: `maxSurge ${pods} and maxUnavailable 0: ${count(rounds, "round")} x ready ${s(ready)} + hold ${s(hold)} = about ${s(rounds * ready + hold)} from the first new pod on; up to ${pods} + ${terminating} pods more than replicas need room`,
  };
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}

function s(milliseconds: number): string {
  return `${+(milliseconds / 1_000).toPrecision(3)}s`;
}
