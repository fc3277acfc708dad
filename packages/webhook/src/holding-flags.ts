import { holdDefaults, type HoldSettings } from "./deletions/settings.ts";
import { badFlag, type parseFlags, text, texts, time } from "@lameduck/program";

/** Held deletions, where they are switched on. Times in milliseconds. */
export interface HoldingFlags extends Omit<HoldSettings, "ownNamespace"> {
  readonly coordinator: string | undefined;
  readonly coordinatorToken: string | undefined;
}

export const holdingHelp = `Held deletions, for pods that are older than the installation (docs/held-deletions.md):

  --held-deletions               delay their deletion until no sender chooses them any more
  --hold-limit TIME              longest delay of a deletion, 25s at most (25s)
  --hold-at-once N               deletions that one replica delays at a time (${holdDefaults.mostAtOnce})
  --hold-replacement TIME        longest wait of an eviction for the new pod (60s)
  --hold-eviction-limit TIME     longest wait of an eviction for the senders (60s)
  --hold-exempt NAME             user, group or ServiceAccount whose deletions never wait; may be repeated
  --coordinator-token FILE       token for the coordinator
`;

export const holdingOptions = {
  "held-deletions": { type: "boolean" },
  "hold-limit": text,
  "hold-at-once": text,
  "hold-replacement": text,
  "hold-eviction-limit": text,
  "hold-exempt": texts,
  "coordinator-token": text,
} as const;

type OtherOptions = Readonly<Record<"certificate-directory" | "coordinator", typeof text>>;
type HoldingValues = ReturnType<typeof parseFlags<typeof holdingOptions & OtherOptions>>;

/** @returns none where deletions are not held. @throws {OperatorError} LAMEDUCK_OPERATOR_BAD_FLAG */
export function holdingFlags(values: HoldingValues): HoldingFlags | undefined {
  if (!values["held-deletions"]) return undefined;
  if (values["certificate-directory"] !== undefined)
    throw badFlag(
      "--held-deletions",
      "needs the operator's own authority; leave --certificate-directory out",
    );
  const limit = time("--hold-limit", values["hold-limit"] ?? "25s");
  if (limit > holdDefaults.limit)
    throw badFlag("--hold-limit", "the API server waits 30 s for a webhook; give 25s at most");
  const atOnce = values["hold-at-once"] ?? String(holdDefaults.mostAtOnce);
  if (!/^[1-9]\d{0,3}$/.test(atOnce))
    throw badFlag("--hold-at-once", `"${atOnce}" is no number from 1 to 9999`);
  return {
    limit,
    mostAtOnce: Number(atOnce),
    replacement: time("--hold-replacement", values["hold-replacement"] ?? "60s"),
    evictionLimit: time("--hold-eviction-limit", values["hold-eviction-limit"] ?? "60s"),
    exempt: values["hold-exempt"] ?? [],
    coordinator: values.coordinator,
    coordinatorToken: values["coordinator-token"],
  };
}
