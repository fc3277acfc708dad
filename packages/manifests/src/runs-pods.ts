import type { Field } from "./field.ts";

/** No resource has its containers deeper than this. */
const deepest = 12;
/** Objects of these kinds run nothing: a schema describes containers, and the others hold text, or patterns for other objects. */
const describing =
  /^(?:CustomResourceDefinition|ConfigMap|Secret|.*Policy|.*Constraint|ConstraintTemplate|PodPreset|.*WebhookConfiguration)$/;

/** Whether the text of a document may hold containers. Most documents hold none, and need not be parsed. */
export function mayRunPods(text: string): boolean {
  return /\b(?:containers?|script|steps|image|predictor)["']?\s*:/.test(text);
}

/** Whether an object of an unknown kind has containers: those of a pod template, of a workflow's step, of a model server. */
export function runsPods(object: Field): boolean {
  if (describing.test(object.at("kind").text() ?? "")) return false;
  const { spec } = (object.plain() ?? {}) as { readonly spec?: unknown };
  const { image, predictor } = mapOf(spec);
  return (
    typeof image === "string" || mapOf(predictor) === predictor || hasContainers(object.plain(), deepest)
  );
}

function hasContainers(value: unknown, depth: number): boolean {
  if (depth === 0 || typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some((one) => hasContainers(one, depth - 1));
  return Object.entries(value).some(
    ([key, one]) => isOfContainers(key, one) || hasContainers(one, depth - 1),
  );
}

function isOfContainers(key: string, value: unknown): boolean {
  if (key === "containers" || key === "steps") return Array.isArray(value) && value.some(hasImage);
  return (key === "container" || key === "script") && hasImage(value);
}

function hasImage(value: unknown): boolean {
  return typeof mapOf(value)["image"] === "string";
}

function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}
