import type { Failure } from "./exchange.ts";

/** errnos that mean that this machine could not open one more connection: the generator's fault, never the pod's. */
const ownFaults = new Set([
  "EMFILE",
  "ENFILE",
  "EADDRNOTAVAIL",
  "EADDRINUSE",
  "ENOBUFS",
  "ENOMEM",
  "EACCES",
  "EPERM",
]);

/** The server's certificate is not trusted (error names of OpenSSL and of Node). */
const certificateErrors = /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA|ERR_TLS_CERT_)/;

export function isImpostor(code: string): boolean {
  return certificateErrors.test(code);
}

/** The outcome of a request that was not answered in time, by when its connection was there. */
export function gaveUp(connected: number | undefined): Failure {
  return { outcome: connected === undefined ? "unreachable" : "timeout", error: "ETIMEDOUT" };
}

/** What a connection that ended with `code` means to its request, by how far that had come. */
export function classify(
  code: string,
  progress: { readonly connected: boolean; readonly received: number },
): Failure {
  if (!progress.connected) {
    if (ownFaults.has(code)) return { outcome: "not-sent", error: code };
    // ECONNRESET here: a reset that overtook the connection's own completion, seen when a listener closes.
    const refused = code === "ECONNREFUSED" || code === "ECONNRESET";
    return { outcome: refused ? "refused" : "unreachable", error: code };
  }
  if (isImpostor(code)) return { outcome: "wrong-body", error: code };
  return { outcome: progress.received === 0 ? "reset-before-response" : "truncated", error: code };
}
