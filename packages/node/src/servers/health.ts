import type { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Phase } from "../events.ts";
import type { Health } from "../options/health.ts";
import { pathOf } from "../options/requests.ts";

/**
 * Answers the path in the application's stead. Put in place only when the hold begins, so that it costs nothing before, and by
 * emit(), because a listener cannot keep the request from the other listeners.
 * @returns what puts the application back.
 */
export function failHealth(server: EventEmitter, health: Health): () => void {
  if (health.path === undefined) return () => {};
  // oxlint-disable-next-line typescript/unbound-method -- called with its own `this`, and put back as it was
  const { emit } = server;
  const failing = function (this: EventEmitter, event: string | symbol, ...args: unknown[]): boolean {
    return isAnswered(event, health, args) || emit.call(this, event, ...args);
  };
  server.emit = failing;
  return () => {
    if (server.emit === failing) server.emit = emit;
  };
}

const text = "terminating\n";
const type = { "content-type": "text/plain" };

/** Answers the health path, and no other. HTTP/2 emits streams also where they become requests. */
function isAnswered(event: string | symbol, { path, status }: Health, [one, other]: unknown[]): boolean {
  if (event === "request" && pathOf((one as IncomingMessage).url) === path)
    (other as ServerResponse).writeHead(status, type).end(text);
  else if (event === "stream" && pathOf((other as IncomingHttpHeaders)[":path"]) === path) {
    (one as ServerHttp2Stream).respond({ ":status": status, ...type });
    (one as ServerHttp2Stream).end(text);
  } else return false;
  return true;
}

/** What a health route of the application should answer. */
export interface Readiness {
  readonly ready: boolean;
  /** For the answer: 200, or 503. */
  readonly status: 200 | 503;
  readonly phase: Phase;
}

/**
 * A pod is ready through the hold, too. Endpoints of a deleted pod move by its deletion. Where all of them terminate, kube-proxy falls back to those
 * that are ready. Where somebody learns of a pod's end by its health alone, it is not ready.
 */
export function readinessIn(phase: Phase, learnsByHealth: boolean): Readiness {
  const ready = phase === "serving" || (phase === "lame-duck" && !learnsByHealth);
  return { ready, status: ready ? 200 : 503, phase };
}
