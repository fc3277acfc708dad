import { createHash } from "node:crypto";
import type { Finding } from "../finding.ts";
import { spell } from "../model/object.ts";

/** The same for the same finding, wherever its lines and its file have moved. */
export function fingerprintOf({ rule, object, container, at }: Finding): string {
  const identity = JSON.stringify([rule, object.type, spell(object), container ?? "", at.path]);
  return createHash("sha256").update(identity).digest("hex").slice(0, 32);
}
