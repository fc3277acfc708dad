import {
  adviceOn,
  validateAnnotations,
  validatePolicy,
  misplacedSettings,
  formatProblem,
  type Problem,
  cut,
} from "@lameduck/inject";
import { isMap } from "@lameduck/protocol";
import type { AdmissionRequest, AdmissionResponse } from "./review.ts";

const workloads = new Set(["Deployment", "StatefulSet", "DaemonSet"]);

/**
 * Judges DrainPolicies and the annotations of workloads. What was wrong before the change stays admitted, with a warning: who scales or deletes
 * something must not be stopped by what another wrote. So does an annotation that a newer version may know.
 */
export function validate({ group, kind, operation, object, oldObject }: AdmissionRequest): AdmissionResponse {
  if (operation !== "CREATE" && operation !== "UPDATE") return { allowed: true };
  if (group === "lameduck.dev" && kind === "DrainPolicy") {
    const what = `DrainPolicy ${nameOf(object)}`;
    const verdict = responseFor(what, validatePolicy(object), oldObject, validatePolicy);
    return withWarnings(verdict, verdict.allowed ? adviceOn(object) : []);
  }
  if (group === "apps" && workloads.has(kind)) {
    const verdict = responseFor(
      `${kind} ${nameOf(object)}`,
      workloadProblems(object),
      oldObject,
      workloadProblems,
    );
    const misplaced = misplacedSettings(annotationsOf(object), annotationsOf(templateOf(object)));
    return withWarnings(verdict, misplaced);
  }
  return { allowed: true };
}

function withWarnings(verdict: AdmissionResponse, added: readonly string[]): AdmissionResponse {
  const warnings = [...(verdict.warnings ?? []), ...added.map((one) => `lameduck: ${one}`)];
  return warnings.length === 0 ? verdict : { ...verdict, warnings };
}

function responseFor(
  what: string,
  problems: readonly Problem[],
  oldObject: unknown,
  problemsOf: (object: unknown) => readonly Problem[],
): AdmissionResponse {
  if (problems.length === 0) return { allowed: true };
  const before = new Set(isMap(oldObject) ? problemsOf(oldObject).map(formatProblem) : []);
  const fresh = problems.filter(
    (problem) => problem.mayBeNewer !== true && !before.has(formatProblem(problem)),
  );
  if (fresh.length === 0)
    return { allowed: true, warnings: problems.map((one) => `lameduck: ${formatProblem(one)}`) };
  return {
    allowed: false,
    message: `${what} is not valid for Lameduck: ${fresh.map(formatProblem).join("; ")}`,
  };
}

function workloadProblems(object: unknown): Problem[] {
  return validateAnnotations(annotationsOf(templateOf(object))).map(({ field, ...rest }) => ({
    field: `spec.template.metadata.annotations ${field}`,
    ...rest,
  }));
}

function templateOf(object: unknown): unknown {
  return isMap(object) && isMap(object["spec"]) ? object["spec"]["template"] : undefined;
}

function annotationsOf(object: unknown): unknown {
  return isMap(object) && isMap(object["metadata"]) ? object["metadata"]["annotations"] : undefined;
}

function nameOf(object: unknown): string {
  const name = isMap(object) && isMap(object["metadata"]) ? object["metadata"]["name"] : undefined;
  return typeof name === "string" ? cut(name) : "(no name)";
}
