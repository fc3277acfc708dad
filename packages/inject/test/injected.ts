import assert from "node:assert/strict";
import { defaultSettings, inject, podToInject, type ClusterFacts, applyPatch } from "../src/index.ts";
import type { Injection, ReasonCode } from "../src/injection.ts";
import type { InjectionSettings } from "../src/policy/settings.ts";

export const facts: ClusterFacts = {
  lameduckVersion: "0.1.0",
  exposedBy: ["Service web"],
  version: { major: 1, minor: 36 },
  convergenceSeconds: { value: 10, origin: "kube-proxy" },
  architectures: undefined,
};

export type Fields = Record<string, unknown>;

export const web = { name: "web", image: "registry.example/web:1", ports: [{ containerPort: 8080 }] };

export function pod(spec: Fields = {}, metadata: Fields = {}): Fields {
  return { metadata, spec: { containers: [web], ...spec } };
}

export function injected(
  given: unknown,
  settings: Partial<InjectionSettings> = {},
  known: Partial<ClusterFacts> = {},
): Injection {
  return inject(podToInject(given), { ...defaultSettings, ...settings }, { ...facts, ...known });
}

export interface Result {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly terminationGracePeriodSeconds?: number;
    readonly volumes?: readonly Fields[];
    readonly initContainers?: readonly Fields[];
    readonly containers: readonly {
      readonly name: string;
      readonly env?: readonly { readonly name: string; readonly value?: string }[];
      readonly volumeMounts?: readonly Fields[];
      readonly lifecycle?: { readonly preStop?: Fields };
    }[];
  };
}

export function result(
  given: unknown,
  ...rest: [Partial<InjectionSettings>?, Partial<ClusterFacts>?]
): Result {
  const { patch, reasons } = injected(given, ...rest);
  assert.notEqual(patch.length, 0, JSON.stringify(reasons));
  return applyPatch(given, patch) as Result;
}

export const commandOf = ({ spec }: Result, index = 0): readonly string[] =>
  (spec.containers[index]?.lifecycle?.preStop?.["exec"] as { command: string[] } | undefined)?.command ?? [];

export function told({ spec }: Result, index = 0): Record<string, string | undefined> {
  return Object.fromEntries((spec.containers[index]?.env ?? []).map(({ name, value }) => [name, value]));
}

export const codes = ({ reasons }: Injection): ReasonCode[] => reasons.map(({ code }) => code);
