import { imagesOf, inventoryOf, isAuditedKind, type InputFile, type Workload } from "@lameduck/audit";
import { readStream, type Field, type ManifestError } from "@lameduck/manifests";
import { isDeepStrictEqual } from "node:util";
import type { OperatorError } from "../errors.ts";
import { patchOf } from "../inject/inject.ts";
import { applyPatch } from "../inject/apply-patch.ts";
import type { Planned } from "../inject/plan.ts";

export type Failures = (ManifestError | OperatorError)[];

export interface Result extends Planned {
  readonly workload: Workload;
  /** Among the workloads of all files. */
  readonly index: number;
}

export function readManifests(files: readonly InputFile[]): {
  readonly objects: readonly Field[];
  readonly workloads: readonly Workload[];
  /** With those that the workloads are related to. */
  readonly related: ReturnType<typeof inventoryOf>["objects"];
  readonly failures: Failures;
} {
  const isWanted = (kind: string): boolean => isAuditedKind(kind) || kind === "DrainPolicy";
  const streams = files.map(({ name, text, isFound }) => readStream(text, name, isWanted, isFound));
  const objects = streams.flatMap((one) => one.objects);
  const { workloads, objects: related, failures } = inventoryOf(objects, imagesOf([]));
  return { objects, workloads, related, failures: [...streams.flatMap((one) => one.failures), ...failures] };
}

/**
 * The first workload that does not stand in the edited files as it was planned. Edits are made by offsets, and YAML has more ways to
 * write a thing than the edits know: so what comes out is read again.
 */
export function firstMisread(
  files: readonly { readonly before: InputFile; readonly after: InputFile }[],
  results: readonly Result[],
): Workload | undefined {
  if (files.every(({ before, after }) => before.text === after.text)) return undefined;
  const { workloads } = readManifests(files.map(({ after }) => after));
  return results.find(({ workload: { template }, index, plan }) => {
    const before = template.plain();
    const expected = plan === undefined ? before : applyPatch(before, patchOf(plan));
    return !isDeepStrictEqual(workloads[index]?.template.plain(), expected);
  })?.workload;
}
