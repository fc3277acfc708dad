import type { SettingField } from "./fields.ts";
import { isMap } from "@lameduck/protocol";
import { readValue, type Problem, briefly } from "./read.ts";
import { unknownNames } from "./unknown.ts";

/** When a pod counts as released: `spec.acknowledgements` of a DrainPolicy. Times are whole seconds. */
export interface AcknowledgementSettings {
  /** availability: who is silent for too long is left out; consistency: never. */
  readonly mode: "availability" | "consistency";
  /** Which nodes matter: all that are Ready, or those from which the pod has seen senders. */
  readonly consumers: "all" | "seen";
  /** How much of them must have reported: "all", or a percentage. */
  readonly quorum: string;
  readonly silentAfterSeconds: number;
  readonly notReadyAfterSeconds: number;
  readonly dnsTtlSeconds: number;
  /** Consumers that no Service, Ingress or Gateway names: "KIND/NAME", with commas between. */
  readonly external: string | undefined;
}

export const defaultAcknowledgements: AcknowledgementSettings = {
  mode: "availability",
  consumers: "all",
  quorum: "all",
  silentAfterSeconds: 10,
  notReadyAfterSeconds: 10,
  // CoreDNS's kubernetes plugin, unless its `ttl` says otherwise.
  dnsTtlSeconds: 5,
  external: undefined,
};

type Name = keyof AcknowledgementSettings;

type Field = Omit<Extract<SettingField, { kind: "choice" | "seconds" | "text" }>, "inPolicy" | "annotation">;

export const acknowledgementFields: Readonly<Record<Name, Field & SettingField>> = {
  mode: {
    kind: "choice",
    choices: ["availability", "consistency"],
    inPolicy: true,
    does: "availability: a consumer that falls silent is left out; consistency: it is waited for, up to the cap",
  },
  consumers: {
    kind: "choice",
    choices: ["all", "seen"],
    inPolicy: true,
    does: "which nodes must have let go: all that are Ready, or those from which the pod has seen connections",
  },
  quorum: {
    kind: "text",
    pattern: /^(?:all|(?:[1-9]|[1-9][0-9]|100)%)$/,
    longest: 4,
    example: "all or 95%",
    inPolicy: true,
    does: "how many of the nodes must have reported",
  },
  silentAfterSeconds: {
    kind: "seconds",
    least: 4,
    most: 600,
    inPolicy: true,
    does: "a consumer without a heartbeat for so long is left out, with mode availability",
  },
  notReadyAfterSeconds: {
    kind: "seconds",
    least: 1,
    most: 600,
    inPolicy: true,
    does: "a node that is not Ready for so long does not count",
  },
  dnsTtlSeconds: {
    kind: "seconds",
    least: 0,
    most: 3_600,
    inPolicy: true,
    does: "how long clients of headless Services may keep an address",
  },
  external: {
    kind: "text",
    pattern: /^[a-z0-9-]+\/[\w.:-]+(?:, ?[a-z0-9-]+\/[\w.:-]+){0,15}$/,
    longest: 1_024,
    example: "http/cdn, aws/shop",
    inPolicy: true,
    does: "further consumers that must have let go, as KIND/NAME",
  },
};

export const acknowledgementNames = Object.keys(acknowledgementFields) as Name[];

/** What is wrong with `spec.acknowledgements`. */
export function acknowledgementProblems(value: unknown): Problem[] {
  const place = "spec.acknowledgements";
  if (value === undefined || value === null) return [];
  if (!isMap(value))
    return [
      {
        field: place,
        message: `must hold fields, not ${briefly(value)}`,
        remedy: `write fields below ${place}`,
      },
    ];
  const unknownKeys = Object.keys(value).filter((key) => !acknowledgementNames.includes(key as Name));
  const wrong = acknowledgementNames.flatMap((name) => {
    if (value[name] === undefined || value[name] === null) return [];
    const read = readValue(acknowledgementFields[name], value[name]);
    return "value" in read ? [] : [{ field: `${place}.${name}`, ...read }];
  });
  return [...wrong, ...unknownNames("field", `${place}.`, unknownKeys, acknowledgementNames)];
}

export interface AcknowledgementSources {
  /** The DrainPolicy `default` of the pod's namespace, and that of Lameduck's own namespace. */
  readonly namespacePolicy?: unknown;
  readonly clusterPolicy?: unknown;
}

/** The namespace's policy wins over the cluster's, field by field. Never fails: what cannot be read is left out, with a warning. */
export function acknowledgementsFor({ namespacePolicy, clusterPolicy }: AcknowledgementSources): {
  readonly settings: AcknowledgementSettings;
  readonly warnings: readonly string[];
} {
  const warnings: string[] = [];
  const values: Record<string, unknown> = { ...defaultAcknowledgements };
  for (const [of, policy] of [
    ["cluster", clusterPolicy],
    ["namespace", namespacePolicy],
  ] as const) {
    const stated = acknowledgementsIn(policy);
    for (const name of acknowledgementNames) {
      const value = stated[name];
      if (value === undefined || value === null) continue;
      const read = readValue(acknowledgementFields[name], value);
      if ("value" in read) values[name] = read.value;
      else
        warnings.push(
          `DrainPolicy of the ${of}, spec.acknowledgements.${name}: ${read.message}; it is left out; ${read.remedy}`,
        );
    }
  }
  return { settings: values as unknown as AcknowledgementSettings, warnings };
}

function acknowledgementsIn(policy: unknown): Readonly<Record<string, unknown>> {
  const spec = isMap(policy) ? policy["spec"] : undefined;
  const stated = isMap(spec) ? spec["acknowledgements"] : undefined;
  return isMap(stated) ? stated : {};
}
