import { holdDefaults, type HoldSettings } from "./deletions/settings.ts";
import { badFlag, type parseFlags, text, texts, time } from "@lameduck/program";

/** Held deletions and surges, where one of them is switched on. Times in milliseconds. */
export interface HoldingFlags extends Omit<HoldSettings, "ownNamespace"> {
  readonly holds: boolean;
  readonly surges: boolean;
  readonly coordinator: string | undefined;
  readonly coordinatorToken: string | undefined;
  /** Pods of nodes that shut down are withdrawn. */
  readonly nodeShutdowns: boolean;
}

export const holdingHelp = `Held deletions, for pods that are older than the installation (docs/operate/held-deletions.md):

  --held-deletions               delay their deletion until all senders have stopped sending
  --hold-limit TIME              longest delay of a deletion, 25s at most (25s)
  --hold-at-once N               deletions that one replica delays at a time (${holdDefaults.mostAtOnce})
  --hold-replacement TIME        longest wait of an eviction for the new pod (60s)
  --hold-eviction-limit TIME     longest wait of an eviction for the senders (60s)
  --hold-exempt NAME             user, group or ServiceAccount whose deletions never wait; may be repeated
  --node-shutdowns               take pods out of their Services when their node shuts down, in namespaces that are
                                 injected: their kubelet ends them without a deletion
  --coordinator-token FILE       token for the coordinator

Evictions of the only pod of a workload that is labelled lameduck.dev/surge=enabled (docs/operate/surge.md):

  --surge                        delay them until another pod is ready
  --surge-replacement TIME       longest wait for the new pod (3m)
`;

export const holdingOptions = {
  "held-deletions": { type: "boolean" },
  "hold-limit": text,
  "hold-at-once": text,
  "hold-replacement": text,
  "hold-eviction-limit": text,
  "hold-exempt": texts,
  "node-shutdowns": { type: "boolean" },
  "coordinator-token": text,
  surge: { type: "boolean" },
  "surge-replacement": text,
} as const;

type OtherOptions = Readonly<Record<"certificate-directory" | "coordinator", typeof text>>;
type HoldingValues = ReturnType<typeof parseFlags<typeof holdingOptions & OtherOptions>>;

/** @returns none where neither is switched on. @throws {OperatorError} LAMEDUCK_OPERATOR_BAD_FLAG */
export function holdingFlags(values: HoldingValues): HoldingFlags | undefined {
  const [holds = false, surges = false] = [values["held-deletions"], values.surge];
  if (!holds && values["node-shutdowns"]) throw badFlag("--node-shutdowns", "needs --held-deletions");
  if (!holds && !surges) return undefined;
  if (values["certificate-directory"] !== undefined)
    throw badFlag(
      holds ? "--held-deletions" : "--surge",
      "needs the operator's own authority; leave --certificate-directory out",
    );
  const limit = time("--hold-limit", values["hold-limit"] ?? "25s");
  if (limit > holdDefaults.limit)
    throw badFlag("--hold-limit", "the API server waits 30 s for a webhook; give 25s at most");
  const atOnce = values["hold-at-once"] ?? String(holdDefaults.mostAtOnce);
  if (!/^[1-9]\d{0,3}$/.test(atOnce))
    throw badFlag("--hold-at-once", `"${atOnce}" is no number from 1 to 9999`);
  return {
    holds,
    surges,
    limit,
    mostAtOnce: Number(atOnce),
    replacement: time("--hold-replacement", values["hold-replacement"] ?? "60s"),
    evictionLimit: time("--hold-eviction-limit", values["hold-eviction-limit"] ?? "60s"),
    surgeReplacement: time("--surge-replacement", values["surge-replacement"] ?? "3m"),
    exempt: values["hold-exempt"] ?? [],
    nodeShutdowns: values["node-shutdowns"] ?? false,
    coordinator: values.coordinator,
    coordinatorToken: values["coordinator-token"],
  };
}
