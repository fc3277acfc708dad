import { OperatorError } from "./errors.ts";

/** The error of a side that speaks another major version than this one. */
export function otherVersion(place: string, version: string): OperatorError {
  const problem = `it speaks version ${version} of the protocol, and this process version 1`;
  return new OperatorError("LAMEDUCK_OPERATOR_OTHER_VERSION", place, problem);
}
