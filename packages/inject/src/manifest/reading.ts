import {
  imagesOf,
  inOneGo,
  readInSteps,
  spell,
  type InputFile,
  type Inventory,
  type Workload,
} from "@lameduck/audit";
import { applyEdits, type Edit, type Field, type ManifestError } from "@lameduck/manifests";
import { isDeepStrictEqual } from "node:util";
import { OperatorError, isMap } from "@lameduck/protocol";
import { patchOf } from "../inject.ts";
import { applyPatch } from "../apply-patch.ts";
import type { Planned } from "../plan.ts";

export type Failures = (ManifestError | OperatorError)[];

export interface Result extends Planned {
  readonly workload: Workload;
  /** Among the workloads of all files. */
  readonly index: number;
}

export function readManifests(files: readonly InputFile[]): {
  readonly objects: readonly Field[];
  readonly inventory: Inventory;
  readonly failures: Failures;
} {
  const read = inOneGo(readInSteps(files, { images: imagesOf([]), also: "DrainPolicy" }));
  return { ...read, failures: [...read.failures] };
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
  const { workloads } = readManifests(files.map(({ after }) => after)).inventory;
  return results.find(({ workload: { template }, index, plan }) => {
    const before = template.plain();
    const expected = plan === undefined ? before : applyPatch(before, patchOf(plan));
    return !isDeepStrictEqual(workloads[index]?.template.plain(), expected);
  })?.workload;
}

/** A value with what its `<<:` stand for, as kubectl reads them: a field of its own wins, then the first mapping that has it. */
export function cannotEdit({ object, template }: Workload): OperatorError {
  return new OperatorError(
    "LAMEDUCK_OPERATOR_CANNOT_EDIT",
    template.place,
    `${spell(object)} is written in a way that cannot be edited in place`,
  );
}

export function withEdits(before: InputFile, edits: readonly Edit[], failures: Failures): InputFile {
  const own = edits.filter(({ file }) => file === before.name);
  const text = applyEdits(before.text, own);
  if (text !== undefined) return { ...before, text };
  failures.push(new OperatorError("LAMEDUCK_OPERATOR_CANNOT_EDIT", before.name, "two workloads share parts"));
  return before;
}

export function withMergeKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => withMergeKeys(one));
  if (!isMap(value)) return value;
  const { "<<": bases, ...own } = value;
  const fields = Object.fromEntries(Object.entries(own).map(([key, one]) => [key, withMergeKeys(one)]));
  const others = (Array.isArray(bases) ? bases : [bases]).map((one) => withMergeKeys(one)).filter(isMap);
  return Object.assign({}, ...others.toReversed(), fields) as unknown;
}

export function hasMergeKey(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return "<<" in value || Object.values(value).some((one) => hasMergeKey(one));
}
