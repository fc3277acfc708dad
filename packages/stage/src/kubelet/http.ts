import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Handler } from "@lameduck/manifests";

type HttpHandler = Extract<Handler, { kind: "http" }>;

export interface HttpTarget {
  readonly address: string;
  readonly port: number;
  /** Where the kubelet connects from. */
  readonly from: string;
  readonly userAgent: string;
}

/** One GET of a probe or a hook, on a connection of its own. Resolves with the status as soon as the head of the answer is there. */
export async function get(handler: HttpHandler, target: HttpTarget, signal: AbortSignal): Promise<number> {
  let path = handler.path;
  for (let redirects = 0; ; redirects++) {
    const { status, location } = await getOnce(handler, path, target, signal);
    const next = status >= 300 && status < 400 && location ? sameHost(location, path, target) : undefined;
    // Redirects are followed on the same host only; to another one counts as an answer.
    if (next === undefined) return status;
    if (redirects >= 10) throw new Error("stopped after 10 redirects");
    path = next;
  }
}

function sameHost(location: string, path: string, target: HttpTarget): string | undefined {
  const base = `http://${target.address}:${target.port}`;
  const url = URL.parse(location, `${base}${path}`);
  return url && url.host === `${target.address}:${target.port}` ? url.pathname + url.search : undefined;
}

function getOnce(
  handler: HttpHandler,
  path: string,
  target: HttpTarget,
  signal: AbortSignal,
): Promise<{ status: number; location?: string }> {
  const options: RequestOptions & { rejectUnauthorized: boolean } = {
    host: handler.host ?? target.address,
    port: target.port,
    // The kubelet escapes nothing, and a path without a leading slash gets one.
    path: path.startsWith("/") ? path : `/${path}`,
    method: "GET",
    agent: false,
    headers: {
      "User-Agent": target.userAgent,
      Accept: "*/*",
      Connection: "close",
      ...Object.fromEntries(handler.headers),
    },
    // A host given in the manifest is on this machine, but not on the pod's network.
    ...(handler.host === undefined ? { localAddress: target.from } : {}),
    rejectUnauthorized: false,
    signal,
  };
  return new Promise((resolve, reject) => {
    const answered = (response: IncomingMessage): void => {
      response.on("error", () => undefined);
      response.resume();
      const { location } = response.headers;
      resolve({ status: response.statusCode ?? 0, ...(location === undefined ? {} : { location }) });
    };
    const request =
      handler.scheme === "HTTPS" ? httpsRequest(options, answered) : httpRequest(options, answered);
    request.on("error", reject);
    request.end();
  });
}
