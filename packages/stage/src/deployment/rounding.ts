import type { CountOrShare } from "@lameduck/manifests";
import { StageError } from "../errors.ts";

export interface Bounds {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

/**
 * Shares of the replicas become numbers: surge rounded up, unavailable down. If only the rounding made both zero, one pod may be
 * unavailable; zeros that were asked for are an error, because no pod could ever be replaced. (ResolveFenceposts)
 */
export function resolveBounds(
  maxSurge: CountOrShare,
  maxUnavailable: CountOrShare,
  replicas: number,
): Bounds {
  const surge = resolve("maxSurge", maxSurge, replicas, Math.ceil);
  const unavailable = Math.min(replicas, resolve("maxUnavailable", maxUnavailable, replicas, Math.floor));
  if (isZero(maxSurge) && isZero(maxUnavailable))
    throw new StageError(
      "LAMEDUCK_BAD_STRATEGY",
      "maxSurge, maxUnavailable",
      "both are zero: no pod could be replaced",
    );
  return { maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

function resolve(
  field: string,
  value: CountOrShare,
  replicas: number,
  round: (share: number) => number,
): number {
  const share = typeof value === "string" ? /^(\d+)%$/.exec(value)?.[1] : undefined;
  const number = typeof value === "string" ? Number(share) : value;
  if (!Number.isInteger(number) || number < 0)
    throw new StageError("LAMEDUCK_BAD_STRATEGY", field, `${value} is neither a whole number nor a share`);
  if (share !== undefined && field === "maxUnavailable" && number > 100)
    throw new StageError("LAMEDUCK_BAD_STRATEGY", field, `${value} is more than all`);
  return share === undefined ? number : round((number * replicas) / 100);
}

function isZero(value: CountOrShare): boolean {
  return Number.parseInt(String(value), 10) === 0;
}
