import type { Annotations, CheckDefaults, NodeChecks, Sender, SenderKind } from "./kind.ts";

const name = "a cloud load balancer that checks the node's health";
const label = "health checks";
const usual: CheckDefaults = { of: "cloud load balancers", interval: 5, threshold: 2, timeout: 5 };

const ofNodes = {
  name,
  label,
  seconds: usual.interval * usual.threshold + usual.timeout,
  because: "interval x failures + timeout",
  knownBy: "a Service of type LoadBalancer with `externalTrafficPolicy: Local`",
} as const satisfies Sender;

/**
 * The load balancer of any cloud that sends to nodes. Where the last pod of a node counts, the node leaves it with that pod.
 * @param clouds by what their load balancers check nodes.
 */
export function nodeBalancer(clouds: readonly NodeChecks[]): SenderKind & {
  detection(annotations: Annotations): Sender;
} {
  /** interval x threshold + timeout, as the Service says, else as the provider's default. */
  const detection = (annotations: Annotations): Sender => {
    const read = (what: "interval" | "threshold" | "timeout"): { value: number; key?: string } => {
      for (const { [what]: key } of clouds) {
        const value = key === undefined ? NaN : Number(annotations.get(key));
        if (key !== undefined && Number.isFinite(value)) return { value, key };
      }
      return { value: defaults[what] };
    };
    const keys = annotations.names();
    const defaults =
      clouds.flatMap(({ defaults: own }) =>
        own && keys.some((key) => key.startsWith(own.prefix)) ? [own] : [],
      )[0] ?? usual;
    const [interval, threshold, timeout] = [read("interval"), read("threshold"), read("timeout")];
    const sum = `${interval.value} interval x ${threshold.value} failures + ${timeout.value} timeout`;
    const annotation = interval.key ?? threshold.key ?? timeout.key;
    return {
      ...ofNodes,
      seconds: interval.value * threshold.value + timeout.value,
      because: `${sum}, the usual defaults of ${defaults.of}`,
      sum,
      ...(annotation === undefined ? {} : { annotation }),
    };
  };
  return {
    name: "node-balancer",
    seen: [ofNodes],
    ofService: ({ type, externalTrafficPolicy, annotations }, others) =>
      type === "LoadBalancer" &&
      externalTrafficPolicy === "Local" &&
      !others.some(({ replacesNodes }) => replacesNodes)
        ? detection(annotations)
        : undefined,
    detection,
  };
}
