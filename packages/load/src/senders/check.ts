import { LoadError } from "../errors.ts";
import { protocolTraits, type LoadProtocol } from "../protocols.ts";
import { requireOwnTarget } from "../targets.ts";
import { isProxy, senderKinds, type SenderSpec } from "./spec.ts";

/**
 * @throws {LoadError} LAMEDUCK_BAD_SENDER, LAMEDUCK_SENDER_PROTOCOL, LAMEDUCK_TARGET_NOT_LOCAL.
 */
export function checkSenders(senders: readonly SenderSpec[], protocol: LoadProtocol = "http"): void {
  if (senders.length === 0) throw badSender("senders", "there is none");
  const names = new Set<string>();
  for (const spec of senders) {
    const place = `sender ${JSON.stringify(spec.name)}`;
    if (!/^[A-Za-z0-9][\w.-]{0,62}$/.test(spec.name))
      throw badSender(place, "its name may have letters, digits, dots and dashes only");
    if (names.has(spec.name)) throw badSender(place, "another has the same name");
    names.add(spec.name);
    if (!senderKinds.includes(spec.kind))
      throw badSender(place, `"${spec.kind as string}" is none of ${senderKinds.join(", ")}`);
    checkProtocol(spec, protocol, place);
    if (spec.address !== undefined) requireOwnTarget(spec.address, `${place}: address`);
  }
}

/** Senders that only choose a pod carry whatever runs over TCP; proxies of the stage, and health checks by path, speak HTTP/1.1. */
function checkProtocol(spec: SenderSpec, protocol: LoadProtocol, place: string): void {
  if (protocol === "http") return;
  const { name, http1 } = protocolTraits[protocol];
  if (isProxy(spec))
    throw new LoadError(
      "LAMEDUCK_SENDER_PROTOCOL",
      place,
      `a sender of kind ${spec.kind} does not speak ${name}`,
    );
  if (spec.kind === "health-checked" && typeof spec.check?.path === "string" && !http1)
    throw new LoadError(
      "LAMEDUCK_SENDER_PROTOCOL",
      `${place}: check.path`,
      `its check does not speak ${name}`,
    );
}

function badSender(place: string, problem: string): LoadError {
  return new LoadError("LAMEDUCK_BAD_SENDER", place, problem);
}
