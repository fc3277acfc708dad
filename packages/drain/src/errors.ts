import { errorClass } from "./common.ts";

/** Every way a drain configuration can be wrong. The same codes stand in docs/reference/errors.md. */
export const drainErrors = {
  LAMEDUCK_BAD_DURATION: 'write a duration with its unit, such as "300ms", "5s", "2m" or "1h"',
  LAMEDUCK_BAD_NUMBER: "give a finite number in the range that is named",
  LAMEDUCK_UNKNOWN_OPTION: "remove it, or correct its spelling",
  LAMEDUCK_UNKNOWN_POLICY: "choose fixed, until-deadline, quiet, adaptive or acknowledged",
  LAMEDUCK_MISSING_OPTION: "add the option or the value that is named",
  LAMEDUCK_NO_TIME_TO_HOLD:
    "raise the grace period (terminationGracePeriodSeconds), or lower the reserve or the preStop hook's time",
  LAMEDUCK_FLOOR_ABOVE_CAP: "lower the floor, or raise the cap or the grace period",
  LAMEDUCK_CAP_ABOVE_GRACE: "lower the cap, or raise the grace period (terminationGracePeriodSeconds)",
  LAMEDUCK_TRACE_INVALID: "name an unchanged file that LAMEDUCK_TRACE wrote",
  LAMEDUCK_TRACE_VERSION: "use the release that wrote it, or a newer one",
} as const;

export type DrainErrorCode = keyof typeof drainErrors;

/** A mistake in the configuration: `code` is stable, `option` is the place, `remedy` says what to do. */
export class DrainError extends errorClass(drainErrors) {}
