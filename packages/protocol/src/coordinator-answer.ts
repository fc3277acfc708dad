import { canonicalAddress } from "./addresses.ts";
import { OperatorError } from "./errors.ts";
import { versionOf } from "./lines.ts";
import { isCount, shownVersion } from "./values.ts";
import { otherVersion } from "./versions.ts";

/** The address that a consumer must let go of, and its number. */
export type Withdrawal = readonly [address: string, number: number];

/** What the coordinator tells a consumer. */
export interface CoordinatorAnswer {
  /** Of one run of one replica: numbers of another mean nothing. */
  readonly epoch: string;
  /** The last number. */
  readonly head: number;
  readonly withdrawn: readonly Withdrawal[];
}

export function writeCoordinatorAnswer({ epoch, head, withdrawn }: CoordinatorAnswer): string {
  return JSON.stringify({ version: 1, epoch, head, withdrawn });
}

/** @param error what is wrong with the report, for people. */
export function writeRefusal(error: string): string {
  return JSON.stringify({ version: 1, error });
}

/** @throws {OperatorError} where the answer is none of version 1. */
export function parseCoordinatorAnswer(text: string): CoordinatorAnswer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unreadable("it is no JSON", { cause: error });
  }
  const { version, epoch, head, withdrawn } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (version !== 1) throw otherVersion("the coordinator", shownVersion(version));
  if (typeof epoch !== "string" || epoch === "" || !isCount(head) || !Array.isArray(withdrawn))
    throw unreadable("epoch, head or withdrawn are missing");
  return { epoch, head, withdrawn: withdrawn.map((entry) => withdrawalOf(entry)) };
}

function withdrawalOf(entry: unknown): Withdrawal {
  const [address, number] = Array.isArray(entry) ? (entry as unknown[]) : [];
  if (typeof address !== "string" || canonicalAddress(address) === undefined || !isCount(number))
    throw unreadable("a withdrawal is no address and number");
  return [address, number];
}

function unreadable(problem: string, options?: ErrorOptions): OperatorError {
  return new OperatorError(
    "LAMEDUCK_OPERATOR_UNREADABLE_CONSUMER",
    "the coordinator's answer",
    problem,
    options,
  );
}

/** The major version of a refusal, JSON or lines, where it is another one than ours. */
export function otherVersionIn(text: string): string | undefined {
  const major = versionOf(text);
  if (major !== undefined) return major === "1" ? undefined : major;
  try {
    const { version } = JSON.parse(text) as { readonly version?: unknown };
    return version === undefined || version === 1 ? undefined : shownVersion(version);
  } catch {
    return undefined;
  }
}
