import { once } from "node:events";
import type { IncomingMessage, RequestOptions } from "node:http";
import { request as httpRequest } from "@lameduck/kube/node-http";
import { request as httpsRequest } from "node:https";
import type { Handler } from "@lameduck/manifests";
import type { ContainerSurroundings } from "./surroundings.ts";

/** One GET of a probe or a hook, on a connection of its own. Resolves with the status as soon as the head of the answer is there. */
export async function get(
  handler: Extract<Handler, { kind: "http" }>,
  { network, from }: Pick<ContainerSurroundings, "network" | "from">,
  userAgent: string,
  signal: AbortSignal,
): Promise<number> {
  const host = handler.host ?? network.address;
  let { scheme } = handler;
  let port = network.localPort(handler.port);
  // The kubelet escapes nothing, and a path without a leading slash gets one.
  let path = handler.path.startsWith("/") ? handler.path : `/${handler.path}`;
  for (let redirects = 0; ; redirects++) {
    const { statusCode = 0, headers } = await answer(scheme, {
      host,
      port,
      path,
      headers: {
        "User-Agent": userAgent,
        Accept: "*/*",
        Connection: "close",
        ...Object.fromEntries(handler.headers),
      },
      // A host given in the manifest is on this machine, but not on the pod's network.
      ...(handler.host === undefined ? { localAddress: from } : {}),
      signal,
    });
    const redirected = statusCode >= 300 && statusCode < 400 && headers.location;
    const next = redirected ? URL.parse(redirected, `${scheme}://${host}:${port}${path}`) : null;
    // Redirects are followed on the same host only, be it to another port; to another host one counts as an answer.
    if (next?.hostname !== host) return statusCode;
    if (redirects >= 10) throw new Error("stopped after 10 redirects");
    scheme = next.protocol === "https:" ? "HTTPS" : "HTTP";
    port = Number(next.port) || (scheme === "HTTPS" ? 443 : 80);
    path = next.pathname + next.search;
  }
}

async function answer(scheme: string, options: RequestOptions): Promise<IncomingMessage> {
  const request =
    scheme === "HTTPS"
      ? httpsRequest({ ...options, agent: false, rejectUnauthorized: false })
      : httpRequest({ ...options, agent: false });
  // Of what follows the head of an answer nothing is of interest.
  request.on("error", () => undefined);
  const [response] = (await once(request.end(), "response")) as [IncomingMessage];
  return response.on("error", () => undefined).resume();
}
