import { constants } from "node:os";
import type { InClusterErrorCode, LoadErrorCode } from "@lameduck/load";
import type { ImageErrorCode } from "@lameduck/images";
import type { initErrors } from "@lameduck/init";
import type { KubernetesErrorCode } from "@lameduck/kube";
import type { StageErrorCode } from "@lameduck/stage";
import type { CliErrorCode } from "./errors.ts";
import type { RemedyResult } from "@lameduck/accounting";
// Every command needs exit codes; the whole of accounting with its schema takes 60 ms to load.
import { heldAgainstPods, verdictOf } from "@lameduck/accounting/verdict";

/** What every command ends with. The same words stand in `lameduck --help` and in docs/reference/errors.md. */
export const exitCodes = {
  clean: 0,
  losses: 1,
  usage: 2,
  internal: 3,
  environment: 4,
  untested: 5,
} as const;

export const exitCodesText =
  "0 clean, 1 losses or findings, 2 usage, 3 internal, 4 cluster or environment, 5 untested, 129, 130 or 143 interrupted";

/** Exit codes of `lab` and `rollout`. */
export const exitCodesOfRuns =
  "0 no loss, 1 requests lost or pods killed at the end of their grace period (0 with --allow-loss), 2 usage, 3 internal, 4 cluster or environment, 5 untested: no load went through a termination, 129, 130 or 143 interrupted";

/** Codes of what is wrong outside the command line and the files it names. All others are the user's to correct there. */
const environmental: ReadonlySet<string> = new Set([
  "LAMEDUCK_PROXY_NOT_SUPPORTED",
  "LAMEDUCK_CREDENTIALS_FAILED",
  "LAMEDUCK_API_UNREACHABLE",
  "LAMEDUCK_API_REFUSED",
  "LAMEDUCK_API_FORBIDDEN",
  "LAMEDUCK_NOT_TAKEN_BACK",
  "LAMEDUCK_CLUSTER_TOO_OLD",
  "LAMEDUCK_URL_NOT_ANSWERING",
  "LAMEDUCK_IN_CLUSTER_NO_PROGRAM",
  "LAMEDUCK_IN_CLUSTER_NOT_STARTED",
  "LAMEDUCK_IN_CLUSTER_URL",
  "LAMEDUCK_IN_CLUSTER_PODS_LOST",
  "LAMEDUCK_NO_NAMESPACES",
  "LAMEDUCK_IMAGE_NOT_HERE",
  "LAMEDUCK_IMAGE_ENGINE",
  "LAMEDUCK_IMAGE_CACHE",
  "LAMEDUCK_IMAGE_NEEDS_NAMESPACES",
  "LAMEDUCK_ALLOW_UNKNOWN_HOST",
  "LAMEDUCK_NETWORK_FAILED",
  "LAMEDUCK_POD_CRASHED",
  "LAMEDUCK_POD_NEVER_READY",
  "LAMEDUCK_LOOPBACK_ONLY",
  "LAMEDUCK_PORT_COLLISION",
  "LAMEDUCK_MOUNT_MISSING",
  "LAMEDUCK_SENDER_BINARY_MISSING",
  "LAMEDUCK_SENDER_FAILED",
  "LAMEDUCK_GENERATOR_DIED",
  "LAMEDUCK_NEVER_WORKED",
  "LAMEDUCK_INIT_NOT_BUILT",
  "LAMEDUCK_OLD_NODE",
  "LAMEDUCK_OF_HELM",
  "LAMEDUCK_NOT_READY",
  "LAMEDUCK_NO_REPORTS",
  "LAMEDUCK_REPORTS_FORBIDDEN",
] satisfies (
  | KubernetesErrorCode
  | InClusterErrorCode
  | StageErrorCode
  | ImageErrorCode
  | LoadErrorCode
  | CliErrorCode
  | keyof typeof initErrors
)[]);

export function exitCodeOfError(code: string): number {
  return environmental.has(code) ? exitCodes.environment : exitCodes.usage;
}

/** 128 + the signal's number, as in a shell. */
export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

export function isOfSignal(exitCode: number): boolean {
  return exitCode > 128;
}

/** A remedy may lose something, which is known, and have terminations of which nothing is. */
function isUntested(result: RemedyResult): boolean {
  return ["untested", "skipped"].includes(verdictOf(result)) || (result.untested ?? 0) > 0;
}

/** What the results of a run that came to its end say. A remedy that could not be run was not tested. */
export function exitCodeOfResults(
  results: readonly RemedyResult[],
  { allowLoss = false }: { readonly allowLoss?: boolean | undefined },
): number {
  const isWorse = (result: RemedyResult): boolean => heldAgainstPods(result).lost > 0 || result.killed > 0;
  if (!allowLoss && results.some(isWorse)) return exitCodes.losses;
  return results.some(isUntested) ? exitCodes.untested : exitCodes.clean;
}
