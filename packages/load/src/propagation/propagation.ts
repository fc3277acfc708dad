import { parseDuration } from "@lameduck/drain/duration";
import { type Distribution, type Mechanism, type PresetName, presets } from "@lameduck/senders";
import { LoadError } from "../errors.ts";
import { meanOf } from "./distribution.ts";

/** How senders learn that an endpoint has come or gone. */
export interface Propagation {
  readonly name: string;
  /** Where the numbers come from. */
  readonly source: string;
  /** What all senders wait for together: the EndpointSlice controller. */
  readonly shared: Distribution;
  /** What each sender waits for by itself, for each pod. */
  readonly own: Distribution;
  /** Least time between two applications by one sender, milliseconds: kube-proxy's minSyncPeriod, a reload limiter. 0 is none. */
  readonly spacing: number;
}

/**
 * The controller usually answers within tens of milliseconds. When two updates of one Service coincide, it finds its informer cache out of
 * date and backs off 1, then 2, then 4 s (defaultSyncBackOff); seen 168 times in some 25 rollouts of 20 pods on Kubernetes 1.36:
 * 5-10 % of the withdrawals. How often the retry has another conflict was not measured: a quarter is an assumption.
 */
const conflict = 0.075;
const again = 0.25;
const controller: Distribution = {
  sum: [
    { uniform: [5, 40] },
    {
      mixture: [
        [1 - conflict, 0],
        [conflict * (1 - again), 1_000],
        [conflict * again * (1 - again), 3_000],
        [conflict * again * again, 7_000],
      ],
    },
  ],
};

/** The lab draws one delay for each sender and pod, where the simulator plays the mechanism. */
export function propagationOf(name: PresetName): Propagation {
  const { source, forwarder } = presets[name];
  // The control is to have no delay at all, the controller's neither.
  if (name === "instant") return { name, source, shared: 0, own: 0, spacing: 0 };
  return { name, source, shared: controller, ...ownPart(forwarder) };
}

function ownPart(mechanism: Mechanism): Pick<Propagation, "own" | "spacing"> {
  switch (mechanism.kind) {
    case "delay":
      return { own: mechanism.delay, spacing: 0 };
    case "poll":
      return { own: { sum: [{ uniform: [0, mechanism.every] }, mechanism.work] }, spacing: 0 };
    case "periodic": {
      const { watch, work, every, counted, busy = false, dataPlane = 0 } = mechanism;
      const own = [watch, work, dataPlane];
      if (!busy) return { own: { sum: own }, spacing: every };
      const period = every + (counted === "from-end" ? meanOf(work) : 0);
      return { own: { sum: [{ uniform: [0, period] }, ...own] }, spacing: 0 };
    }
  }
}

const range = /^(exactly\s+)?([\d.]+\s*[a-z]*)(?:\s*\.\.\s*([\d.]+\s*[a-z]*))?$/;

/**
 * A preset's name, a delay ("3s") or a uniform range ("1s..10s"). The controller's part is added to delays and ranges too, unless the
 * text begins with "exactly".
 * @throws {LoadError} LAMEDUCK_UNKNOWN_PROPAGATION, {DrainError} LAMEDUCK_BAD_DURATION.
 */
export function parsePropagation(text: string, option = "propagation"): Propagation {
  const name = text.trim();
  if (Object.hasOwn(presets, name)) return propagationOf(name as PresetName);
  const match = range.exec(name);
  if (!match?.[2])
    throw new LoadError(
      "LAMEDUCK_UNKNOWN_PROPAGATION",
      option,
      `"${text}" is none of ${Object.keys(presets).join(", ")}, nor a delay, nor a range`,
    );
  const from = parseDuration(match[2], option);
  const to = match[3] === undefined ? from : parseDuration(match[3], option);
  if (to < from)
    throw new LoadError("LAMEDUCK_UNKNOWN_PROPAGATION", option, `the range "${text}" ends before it begins`);
  return {
    name,
    source: "given by the user",
    shared: match[1] === undefined ? controller : 0,
    own: { uniform: [from, to] },
    spacing: 0,
  };
}
