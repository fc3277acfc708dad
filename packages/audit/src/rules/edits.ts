import { insertField, replaceScalar, type Edit, type Field } from "@lameduck/manifests";
import { hasStopSignal } from "../facts/stop-signal.ts";
import type { Fix } from "../finding.ts";
import type { Container } from "../model/container.ts";
import type { Workload } from "../model/workload.ts";
import type { Context } from "../rule.ts";

/** All of the edits, or none. */
export function fixOf(does: string, edits: readonly (Edit | undefined)[]): { readonly fix?: Fix } {
  const whole = edits.filter((edit) => edit !== undefined);
  return whole.length === edits.length && whole.length > 0 ? { fix: { does, edits: whole } } : {};
}

export function setGrace({ pod }: Workload, seconds: number, { textOf }: Context): Edit | undefined {
  const field = pod.at("terminationGracePeriodSeconds");
  const text = String(Math.ceil(seconds));
  return field.exists
    ? replaceScalar(field, text)
    : insertField(textOf(pod.source.file), pod, "terminationGracePeriodSeconds", text);
}

/** As the value stood there: with its quotes, which an argument needs. */
export function quotedLike(field: Field, text: string, { textOf }: Context): string {
  const [start, end] = field.span;
  const quote = /^["']/.exec(textOf(field.source.file).slice(start, end))?.[0] ?? "";
  return `${quote}${text}${quote}`;
}

/** The grace period for a hold of so many seconds. Hooks of containers run at the same time: the longest of them counts, not their sum. */
export function graceFor({ grace, containers, sidecars }: Workload, hold: number): number {
  const times = [...containers, ...sidecars].map(({ hook }) => hook?.least.value ?? 0);
  return grace.value + Math.max(0, Math.ceil(hold - Math.max(0, ...times)));
}

/** A preStop hook that sleeps, by the kubelet itself: it needs nothing of the image. */
export function addSleep(
  { field, lifecycle }: Container,
  seconds: number,
  context: Context,
): Edit | undefined {
  if (!hasNativeSleep(context)) return undefined;
  const text = context.textOf(field.source.file);
  const preStop = { sleep: { seconds: String(Math.ceil(seconds)) } };
  return lifecycle.exists
    ? insertField(text, lifecycle, "preStop", preStop)
    : insertField(text, field, "lifecycle", { preStop });
}

/** On by default since Kubernetes 1.30. Who does not say which version there is has one that is supported. */
export function hasNativeSleep({ kubernetes }: Context): boolean {
  return kubernetes === undefined || kubernetes >= 30;
}

/** The signal that the kubelet sends, as a field: the API server takes it only where the pod says its operating system. */
export function setStopSignal(
  { pod }: Workload,
  { field, lifecycle }: Container,
  signal: string,
  context: Context,
): (Edit | undefined)[] {
  if (!hasStopSignal(context.kubernetes)) return [];
  const text = context.textOf(field.source.file);
  const os = pod.at("os").at("name");
  return [
    lifecycle.exists
      ? insertField(text, lifecycle, "stopSignal", signal)
      : insertField(text, field, "lifecycle", { stopSignal: signal }),
    ...(os.exists ? [] : [insertField(text, pod, "os", { name: "linux" })]),
  ];
}
