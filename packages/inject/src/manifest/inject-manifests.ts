import { convergenceOf, spell, type InputFile, type Inventory, type Workload } from "@lameduck/audit";
import { ManifestError, type Edit, type Field } from "@lameduck/manifests";
import { OperatorError, injectLabel, operatorNames, isMap } from "@lameduck/protocol";
import type { ClusterFacts, Reason } from "../injection.ts";
import { podToInject, systemNamespaces } from "../skip.ts";
import { leftAlone, planOf, type Planned } from "../plan.ts";
import { settingsFor } from "../policy/merge.ts";
import { formatProblem, type Problem } from "../policy/read.ts";
import { annotationOf } from "../policy/fields.ts";
import { validateAnnotations, validatePolicy, misplacedSettings } from "../policy/validate.ts";
import { editsOf } from "./edits.ts";
import { withEmpties } from "./empties.ts";
import { outdatedWarnings } from "./outdated.ts";
import {
  cannotEdit,
  firstMisread,
  readManifests,
  type Result,
  hasMergeKey,
  withEdits,
  withMergeKeys,
} from "./reading.ts";

export interface ManifestOptions {
  readonly facts: Omit<ClusterFacts, "exposedBy" | "convergenceSeconds" | "workloadKind">;
  /** Stands for the cluster's DrainPolicy; else that of Lameduck's namespace, where the manifests hold it. */
  readonly clusterPolicy?: unknown;
  /** Fields of a spec that win over those of the cluster's policy. */
  readonly asked?: Readonly<Record<string, unknown>>;
}

export interface InjectedWorkload {
  /** "Deployment shop/web" */
  readonly name: string;
  readonly place: string;
  readonly isInjected: boolean;
  readonly reasons: readonly Reason[];
  readonly warnings: readonly string[];
}

/** A ConfigMap that hooks take lameduck-init from. */
export interface NeededInitVolume {
  readonly name: string;
  readonly namespace: string;
}

export interface InjectedManifests {
  /** All of the input, in its order; those that stay as they are have one text. */
  readonly files: readonly { readonly before: InputFile; readonly after: InputFile }[];
  readonly workloads: readonly InjectedWorkload[];
  /** What has to be in the cluster besides; each once. */
  readonly initVolumes: readonly NeededInitVolume[];
  /** With what was not looked into. */
  readonly inventory: Inventory;
  /** What could not be read, is wrong, or cannot be edited. */
  readonly failures: readonly (ManifestError | OperatorError)[];
}

/** Injects every pod template of manifests, as admission would do it to their pods. */
export function injectManifests(files: readonly InputFile[], options: ManifestOptions): InjectedManifests {
  const { objects, inventory, failures } = readManifests(files);
  const texts = new Map(files.map(({ name, text }) => [name, text]));
  const policies = policiesIn(objects, failures);
  const namespaces = new Map(
    inventory.objects
      .filter(({ type }) => type === "/Namespace")
      .map(({ name, field }) => [name, labelOf(field)]),
  );
  const edits: Edit[] = [];
  const results = inventory.workloads.flatMap((workload, index): Result[] => {
    const { object, template } = workload;
    try {
      const planned =
        skipped(object.namespace, namespaces.get(object.namespace)) ??
        planWorkload(workload, policies, options, failures);
      const text = texts.get(template.source.file) ?? "";
      const plan = planned.plan && withEmpties(planned.plan, template, text);
      const own = plan && editsOf(plan, template, text);
      if (plan && (own === undefined || hasMergeKey(template.plain()))) failures.push(cannotEdit(workload));
      else edits.push(...(own ?? []));
      return [{ ...planned, plan, workload, index }];
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      failures.push(error);
      return [];
    }
  });
  const edited = files.map((before) => ({ before, after: withEdits(before, edits, failures) }));
  const misread = firstMisread(edited, results);
  if (misread) failures.push(cannotEdit(misread));
  return {
    files: misread ? files.map((before) => ({ before, after: before })) : edited,
    workloads: results.map(({ workload, plan: own, reasons, warnings }) => ({
      name: spell(workload.object),
      place: workload.object.field.place,
      isInjected: own !== undefined,
      reasons,
      warnings,
    })),
    initVolumes: initVolumesOf(results),
    inventory,
    failures,
  };
}

function initVolumesOf(results: readonly Result[]): NeededInitVolume[] {
  const all = results.flatMap(({ workload, plan: own }) =>
    (own?.volumes ?? []).flatMap(({ configMap }): NeededInitVolume[] => {
      const name = isMap(configMap) ? configMap["name"] : undefined;
      return typeof name === "string" ? [{ name, namespace: workload.object.namespace }] : [];
    }),
  );
  return [...new Map(all.map((one) => [`${one.namespace}/${one.name}`, one])).values()];
}

function planWorkload(
  workload: Workload,
  policies: ReadonlyMap<string, unknown>,
  { facts, asked, clusterPolicy = policies.get(operatorNames.namespace) }: ManifestOptions,
  failures: unknown[],
): Planned {
  const { object, template, services, routes } = workload;
  const annotations = annotationsOf(template);
  const stated = withMergeKeys(annotations.plain()) as Readonly<Record<string, unknown>> | undefined;
  const { kind } = object;
  if ((kind === "Job" || kind === "CronJob") && stated?.[annotationOf("inject")] !== "true")
    return leftAlone({ code: "of-a-job", text: `a ${kind}'s pods end by themselves` });
  const slowest = slowestOf(workload);
  const messages: string[] = [];
  for (const problem of validateAnnotations(stated))
    if (problem.mayBeNewer) messages.push(formatProblem(problem));
    else failures.push(failureOf("LAMEDUCK_OPERATOR_BAD_ANNOTATION", annotations, problem));
  const { settings, warnings } = settingsFor({
    podAnnotations: stated,
    namespacePolicy:
      object.namespace === operatorNames.namespace ? undefined : policies.get(object.namespace),
    clusterPolicy,
    asked,
  });
  const pod = withMergeKeys(template.plain());
  const known: ClusterFacts = {
    ...facts,
    workloadKind: object.kind,
    // A Service may be in another file: then ports count.
    exposedBy:
      services.length === 0
        ? undefined
        : [...services, ...routes].map(({ kind: of, name }) => `${of} ${name}`),
    convergenceSeconds: slowest && {
      value: slowest.amount.value,
      origin: slowest.sender?.name ?? slowest.amount.name,
    },
  };
  const planned = planOf(podToInject(pod), settings, known);
  const isDeclined = planned.reasons.some(({ code }) => code === "opted-out");
  messages.push(...warnings, ...planned.warnings, ...misplacedWarnings(object.field, template));
  messages.push(...outdatedWarnings(pod, isDeclined, settings, known));
  return { ...planned, warnings: messages };
}

/** What the workload itself says of it is a setting. */
function slowestOf(workload: Workload): ReturnType<typeof convergenceOf> {
  const isConfigured = [workload.template, workload.object.field].some(
    (one) => annotationsOf(one).at(annotationOf("convergenceSeconds")).exists,
  );
  return isConfigured ? undefined : convergenceOf(workload, {});
}

/** Admission sees the pod, and nothing of what made it. */
function misplacedWarnings(object: Field, template: Field): string[] {
  if (object.at("spec").at("template").path !== template.path) return [];
  return misplacedSettings(annotationsOf(object).plain(), annotationsOf(template).plain());
}

function annotationsOf(field: Field): Field {
  return field.at("metadata").at("annotations");
}

function skipped(namespace: string, label: string | undefined): Planned | undefined {
  if ([operatorNames.namespace as string, ...systemNamespaces].includes(namespace))
    return leftAlone({ code: "system-namespace", text: `${namespace} is left alone` });
  if (label === "disabled")
    return leftAlone({
      code: "namespace-not-labelled",
      text: `namespace ${namespace} is labelled ${injectLabel}=disabled`,
    });
  return undefined;
}

function labelOf(field: Field): string | undefined {
  return field.at("metadata").at("labels").textMap()[injectLabel];
}

/** By namespace. */
function policiesIn(objects: readonly Field[], failures: unknown[]): ReadonlyMap<string, unknown> {
  const policies = new Map<string, unknown>();
  for (const field of objects) {
    if (field.at("kind").text() !== "DrainPolicy") continue;
    const problems = validatePolicy(field.plain());
    for (const problem of problems) failures.push(failureOf("LAMEDUCK_OPERATOR_BAD_POLICY", field, problem));
    if (problems.length === 0)
      policies.set(field.at("metadata").at("namespace").text() ?? "default", field.plain());
  }
  return policies;
}

/** At the line of the field. */
function failureOf(
  code: "LAMEDUCK_OPERATOR_BAD_POLICY" | "LAMEDUCK_OPERATOR_BAD_ANNOTATION",
  below: Field,
  { field, message, remedy }: Problem,
): OperatorError {
  const path = code === "LAMEDUCK_OPERATOR_BAD_POLICY" ? field.split(".") : [field];
  const at = path.filter((key) => key !== "").reduce((one, key) => (one.mapping ? one.at(key) : one), below);
  return new OperatorError(code, at.place, `${field}: ${message}`, { remedy });
}
