import { type Basis, otherVersion, canonicalAddress } from "@lameduck/protocol";
import type { NumberRange, Withdrawal } from "./watermark.ts";
import { unreadable } from "./consumer.ts";

/** What a consumer posts to a coordinator: docs/acknowledgements-protocol.md. */
export interface Report {
  readonly version: 1;
  readonly kind: string;
  readonly node?: string;
  readonly basis: Basis;
  /** Null before the coordinator's first answer. */
  readonly epoch: string | null;
  readonly applied: number;
  readonly also?: readonly NumberRange[];
  readonly known: number;
  /** Milliseconds for which the coordinator may hold the request. */
  readonly wait: number;
  readonly serves?: readonly string[];
  readonly problem?: string;
  readonly reason?: string;
}

/** What the coordinator answers. */
export interface CoordinatorAnswer {
  readonly epoch: string;
  readonly head: number;
  readonly withdrawn: readonly Withdrawal[];
}

/** @throws {OperatorError} where the answer is none of version 1. */
export function readAnswer(text: string): CoordinatorAnswer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unreadable("the coordinator's answer", "it is no JSON", { cause: error });
  }
  const { version, epoch, head, withdrawn } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (version !== 1) throw otherVersion("the coordinator", shownVersion(version));
  if (typeof epoch !== "string" || epoch === "" || !isNumber(head) || !Array.isArray(withdrawn))
    throw unreadable("the coordinator's answer", "epoch, head or withdrawn are missing");
  return { epoch, head, withdrawn: withdrawn.map((entry) => withdrawalOf(entry)) };
}

/** The major version of a refusal, where it is another one than ours. */
export function otherVersionIn(text: string): string | undefined {
  try {
    const { version } = JSON.parse(text) as { readonly version?: unknown };
    return version === undefined || version === 1 ? undefined : shownVersion(version);
  } catch {
    return undefined;
  }
}

const shownVersion = (version: unknown): string =>
  typeof version === "number" ? String(version) : "unknown";

function withdrawalOf(entry: unknown): Withdrawal {
  const [address, number] = Array.isArray(entry) ? (entry as unknown[]) : [];
  if (typeof address !== "string" || canonicalAddress(address) === undefined || !isNumber(number))
    throw unreadable("the coordinator's answer", "a withdrawal is no address and number");
  return [address, number];
}

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
