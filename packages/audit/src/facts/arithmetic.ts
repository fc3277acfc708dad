import { assumed, seconds, type Amount } from "../model/amount.ts";
import type { Arithmetic } from "../finding.ts";

/** Time kept free before SIGKILL: the kubelet counts whole seconds, and a process needs a moment to exit. */
export const reserve: Amount = assumed(
  "reserve",
  2,
  "the kubelet counts whole seconds, and a process needs a moment to exit",
);

/** The drain that is assumed without an answer: what fits into Kubernetes' default of 30 s. */
export const usualDrain: Amount = assumed("drain", 30 - reserve.value, "what Kubernetes' default leaves");

/** "20 preStop + 25 drain = 45 > 30 grace" */
export function compare(parts: readonly Amount[], relation: string, bound: Amount): Arithmetic {
  const total = sumOf(parts);
  const spelt = spellSum(parts);
  const left = parts.length > 1 ? `${spelt} = ${seconds(total)}` : parts.length === 1 ? spelt : "0";
  return { sum: `${left} ${relation} ${seconds(bound.value)} ${bound.name}`, terms: [...parts, bound] };
}

/** "20 preStop + 25 drain" */
export function spellSum(parts: readonly Amount[]): string {
  return parts.map(({ name, value }) => `${seconds(value)} ${name}`).join(" + ");
}

export function sumOf(parts: readonly Amount[]): number {
  return parts.reduce((sum, { value }) => sum + value, 0);
}
