import { parseDuration } from "@lameduck/drain";
import { z } from "zod";
import { meanOf, type Distribution, presets } from "@lameduck/load/propagation";
import { defaultAcknowledgements as usual } from "../model/acknowledgements.ts";
import { usualReaction } from "../model/scenario.ts";

/** A number of a scenario from code is milliseconds. In a file a duration needs its unit, and a number is refused. */
export type Numbers = "milliseconds" | "refused";

function durations(numbers: Numbers) {
  return z
    .union([z.number(), z.string()], { error: 'expected a duration such as "5s" or "300ms"' })
    .transform((value, context) => {
      try {
        return parseDuration(numbers === "refused" && Number(value) > 0 ? String(value) : value, "it");
      } catch (error) {
        context.addIssue({ code: "custom", message: (error as Error).message.replace(/^it: /, "") });
        return z.NEVER;
      }
    });
}

interface Issue {
  readonly message?: string | undefined;
  readonly errors?: readonly (readonly Issue[])[] | undefined;
}

/** Traffic is simulated for as long as a sender or the endpoints lag behind: 700 h of it would never end. */
const longestTimeMs = 3_600_000;
const tooLong = "is longer than 1h, the longest time that a scenario may take for anything";

/** What is wrong with a duration somewhere within a union, which would only say what may stand there. */
function durationProblem({ message, errors = [] }: Issue): string | undefined {
  if (message?.includes("has no unit") || message === tooLong) return message;
  for (const issue of errors.flat()) {
    const found = durationProblem(issue);
    if (found !== undefined) return found;
  }
  return undefined;
}

const weight = z.number().positive();
/** Of the time, as 0.2. */
const part = z.number().min(0).max(1);
const rising = "the second must not be below the first";

const count = z.int().min(1).max(100_000);
const share = z.union([z.int().min(0), z.string().regex(/^\d{1,3}%$/, 'expected a number of pods or "25%"')]);
const rate = z.number().min(0).max(1_000_000);

/** What is drawn anew each time: one value, or a distribution over values. */
function distributionOf(value: z.ZodType<number, number | string>, what: string): z.ZodType<Distribution> {
  const distribution: z.ZodType<Distribution> = z.lazy(() =>
    z.union(
      [
        value,
        z.strictObject({ uniform: z.tuple([value, value]).refine(([a, b]) => b >= a, rising) }),
        z.strictObject({ exponential: value.refine((mean) => mean > 0, "must be above 0") }),
        z.strictObject({
          lognormal: z.tuple([value, value]).refine(([median, p90]) => median > 0 && p90 >= median, rising),
        }),
        z.strictObject({ quantiles: z.array(z.tuple([z.number().min(0).max(1), value])).min(1) }),
        z.strictObject({ mixture: z.array(z.tuple([weight, distribution])).min(1) }),
        z.strictObject({ sum: z.array(distribution).min(1) }),
      ],
      {
        error: (issue) =>
          durationProblem(issue) ??
          `expected ${what}, or one of uniform: [from, to], exponential: mean, lognormal: [median, p90], quantiles: [[p, value], ...], mixture: [[weight, ...], ...], sum: [...]`,
      },
    ),
  );
  return distribution;
}

/** Options of the library that are durations. */
const ownDurations = [
  "floor",
  "cap",
  "grace",
  "prestop",
  "reserve",
  "delay",
  "window",
  "convergence",
  "requestQuiet",
];

/** What a scenario may say; every object refuses unknown keys. */
export function scenarioSchema(numbers: Numbers) {
  const duration = durations(numbers);
  const bounded = duration.refine((milliseconds) => milliseconds <= longestTimeMs, tooLong);
  const distribution = distributionOf(bounded, "a duration");
  const member = {
    count: count.default(1),
    /** 0: it sends nothing, and its reports are waited for. */
    share: z.number().min(0).max(1_000_000).default(1),
    reports: z.boolean().default(true),
  };
  const senders = z.union(
    [
      z.strictObject({
        preset: z.string(),
        ...member,
        name: z.string().optional(),
      }),
      z.strictObject({
        name: z.string(),
        convergence: distribution,
        ...member,
      }),
      z.strictObject({
        name: z.string(),
        kubeProxy: z.strictObject({
          minSyncPeriod: bounded,
          sync: distribution.default({ uniform: [50, 200] }),
          busy: z.boolean().default(false),
        }),
        ...member,
      }),
    ],
    {
      error: (issue) =>
        durationProblem(issue) ??
        `expected preset (${Object.keys(presets).join(", ")}), or name with convergence or kubeProxy`,
    },
  );

  return z.strictObject({
    name: z.string().default("scenario"),
    summary: z.string().default(""),
    replicas: count.default(10),
    terminations: count.default(200),
    rollout: z
      .strictObject({
        kind: z.enum(["deployment", "stateful-set", "daemon-set", "isolated"]).default("deployment"),
        /** Defaults are Kubernetes' own: 25 % each for a Deployment, none and 1 for a DaemonSet, 1 unavailable for a StatefulSet. */
        maxSurge: share.optional(),
        maxUnavailable: share.optional(),
        ready: distribution.default({ uniform: [2_000, 5_000] }),
        // 0 by default: with more, fewer withdrawals come late than were counted on a real cluster (docs/tools/simulate.md).
        listedBefore: distribution.default(0),
      })
      .prefault({}),
    endpoints: z
      .strictObject({
        latency: distribution.optional(),
        batch: bounded.optional(),
        cacheLag: distribution.optional(),
        backOff: bounded.optional(),
        drawn: distribution.optional(),
      })
      .prefault({}),
    senders: z
      .array(senders)
      .min(1)
      .refine((groups) => groups.some(({ share }) => share > 0), "nobody sends: every share is 0")
      .default([{ preset: "idle-kube-proxy", count: 3, share: 1, reports: true }]),
    traffic: z
      .strictObject({
        /** New connections per second to one pod ... */
        perPod: rate.optional(),
        /** ... or to all of them. */
        total: rate.optional(),
        spread: z.enum(["even", "known"]).default("even"),
        arrivals: z
          .union(
            [
              z.literal("poisson"),
              z.strictObject({ bursty: z.number().min(1).max(10) }),
              z.strictObject({ periodic: z.number().min(0).max(1) }),
            ],
            {
              error:
                "expected poisson, bursty: coefficient of variation (1 to 10), or periodic: jitter (0 to 1)",
            },
          )
          .default("poisson"),
        clients: count.optional(),
        snat: count.optional(),
        service: distribution.default({ lognormal: [20, 100] }),
        pooled: z
          .strictObject({ connections: count, perPod: rate, oneWay: duration.default(0.5) })
          .optional(),
      })
      .prefault({}),
    pod: z
      .strictObject({
        grace: duration.default(30_000),
        prestop: duration.default(0),
        reserve: duration.optional(),
        watched: duration.default(120_000),
        age: distributionOf(duration, "a duration").optional(),
        /** Without a processor for this part of the time, for so long each time. */
        stalls: z
          .strictObject({ share: distributionOf(part, "a part of 1"), length: distribution })
          .optional(),
        reaction: distribution.default(usualReaction),
      })
      .prefault({}),
    /** Consumers and how they report; without it no consumer reports. */
    acknowledgements: z
      .strictObject({
        mode: z.enum(["availability", "consistency"]).default(usual.mode),
        silentAfter: duration.default(usual.silentAfter),
        coordinator: distribution.default(usual.coordinator),
        network: distribution.default(usual.network),
        wake: distribution.default(usual.wake),
        poll: distribution.refine((poll) => meanOf(poll) > 0, "must be above 0").default(usual.poll),
        look: distribution.default(usual.look),
        heartbeat: duration.default(usual.heartbeat),
        silent: z.int().min(0).default(usual.silent),
        lying: z.int().min(0).default(usual.lying),
      })
      .optional(),
    /** Your own settings, as for @lameduck/node: played beside the usual remedies. */
    policy: z
      .looseObject(Object.fromEntries(ownDurations.map((name) => [name, duration.optional()])))
      .optional(),
  });
}

export type ScenarioFile = z.input<ReturnType<typeof scenarioSchema>>;
export type CheckedScenario = z.output<ReturnType<typeof scenarioSchema>>;
