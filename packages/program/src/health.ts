import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { operatorNames } from "@lameduck/protocol";
import type { Registry } from "@prometheus-io/client";

export interface Health {
  /** What is still waited for; undefined when nothing is. */
  readonly notReady: () => string | undefined;
  /** For `lameduck status`: what is answered as JSON, by path. */
  readonly pages?: Readonly<Record<string, () => unknown>>;
}

const { paths } = operatorNames;

/** Readiness and liveness for the kubelet. */
export function answerHealth(
  path: string,
  { method }: IncomingMessage,
  response: ServerResponse,
  { notReady }: Health,
): void {
  const plain = (status: number, text: string): void =>
    void response.writeHead(status, { "content-type": "text/plain; charset=utf-8" }).end(`${text}\n`);
  if (method !== "GET" && method !== "HEAD") plain(405, "only GET is answered");
  else if (path === paths.live) plain(200, "ok");
  else if (path === paths.ready) {
    const reason = notReady();
    plain(reason === undefined ? 200 : 503, reason ?? "ok");
  } else plain(404, `there are ${Object.values(paths).join(", ")}`);
}

/** The other port: metrics, in clear. */
export function metricsHandler(
  { registry }: { readonly registry: Registry },
  options: Health,
): RequestListener {
  return (request, response) => {
    const [path = ""] = (request.url ?? "").split("?", 1);
    const page = request.method === "GET" ? options.pages?.[path] : undefined;
    if (page) response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(page()));
    else if (path !== paths.metrics || request.method !== "GET")
      answerHealth(path, request, response, options);
    else
      void registry.metrics().then(
        (text) => response.writeHead(200, { "content-type": registry.contentType }).end(text),
        () => response.writeHead(500).end(),
      );
  };
}
