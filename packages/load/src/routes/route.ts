import { once } from "node:events";
import { lookup } from "node:dns/promises";
import { request as httpRequest } from "@lameduck/kube/node-http";
import { request as httpsRequest } from "node:https";
import { connect, isIP } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { connect as connectTls, type ConnectionOptions } from "node:tls";
import { claimHeaders } from "../answer.ts";
import type { TlsOptions } from "../plan.ts";
import { isImpostor } from "../protocols/failures.ts";
import { protocolTraits, type LoadProtocol } from "../protocols.ts";
import { headerFields, parseRequest, type RequestOptions } from "../request-form.ts";
import { withoutUndefined } from "@lameduck/drain/common";
import { KubernetesError } from "@lameduck/kube";
import { badUrl, isSecure, portOf, protocolOf, shownUrl, withoutSecrets } from "./url.ts";

/** One way for requests into the cluster: an ingress, a Service's address, a node's port. */
export interface Route {
  /** What the sender is called in sentences and results. */
  readonly name: string;
  readonly url: URL;
  /** The protocol of the load; default: the URL's scheme. */
  readonly protocol?: LoadProtocol;
  readonly request?: RequestOptions;
  /** Whether certificates are verified. Default: true. */
  readonly tls?: TlsOptions;
}

/** What holds for all routes of a command. */
export type RouteManner = Pick<Route, "protocol" | "request" | "tls">;

/** A route whose name was looked up and that has answered. */
export interface OpenRoute extends Route {
  readonly address: string;
  readonly port: number;
  /** What it answered at first; 0 if it was only connected to, because its protocol is not HTTP/1.1. */
  readonly status: number;
  /** The pod that the first answer named; undefined where answers name none. */
  readonly pod: string | undefined;
  /** Other addresses the name has: the load goes to the first only. */
  readonly others: readonly string[];
}

const firstAnswerMs = 10_000;
/** A Service that was made just now, or is being rolled, may refuse for a moment. */
const attempts = 3;
const betweenAttemptsMs = 1_000;

/** "ingress=http://shop.example/cart" or the URL alone, which is then called by its host. @throws {KubernetesError} LAMEDUCK_BAD_URL, {LoadError} LAMEDUCK_BAD_LOAD. */
export function parseRoutes(texts: readonly string[], manner: RouteManner = {}): Route[] {
  const routes = texts.map((text) => parseRoute(text, manner));
  const seen = new Set<string>();
  for (const { name } of routes) {
    if (seen.has(name)) throw badUrl(`two are called "${name}": name them, NAME=URL`);
    seen.add(name);
  }
  return routes;
}

function parseRoute(text: string, manner: RouteManner): Route {
  const [, given, address = text] = /^([A-Za-z][\w.-]*)=(.*)$/.exec(text) ?? [];
  const url = URL.parse(address);
  if (!url) throw badUrl(`"${withoutSecrets(address)}" is not a URL`);
  if (url.username !== "" || url.password !== "") throw badUrl("a name and password in a URL are not sent");
  const protocol = protocolOf(url, manner.protocol);
  parseRequest(manner.request ?? {}, protocol);
  return { ...manner, name: given ?? url.host, url, protocol };
}

/** What a Host header says: the URL's, unless --header says another one. */
export function hostOf({ url, request }: Route): string {
  const given = request?.headers?.find(isHost);
  return given?.slice("host:".length).trim() ?? url.host;
}

export function isHost(header: string): boolean {
  return /^host:/i.test(header);
}

/** Looks the name up and asks once. @throws {KubernetesError} LAMEDUCK_URL_NOT_ANSWERING. */
export async function openRoute(route: Route, signal?: AbortSignal): Promise<OpenRoute> {
  const host = route.url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = portOf(route.url);
  const addresses = await resolveHost(host, route);
  const [address = ""] = addresses;
  const { status, pod } = await askWithRetries(route, { address, port }, signal);
  if (status >= 500 && !(route.request?.meantStatuses ?? []).includes(status))
    throw new KubernetesError("LAMEDUCK_URL_NOT_ANSWERING", shownUrl(route.url), `it answers ${status}`);
  return { ...route, address, port, status, pod, others: addresses.slice(1) };
}

async function resolveHost(host: string, { url }: Route): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    const found = await lookup(host, { all: true });
    return found.map(({ address }) => address);
  } catch (error) {
    throw new KubernetesError("LAMEDUCK_URL_NOT_ANSWERING", shownUrl(url), whyNot(error));
  }
}

type FirstAnswer = Pick<OpenRoute, "status" | "pod">;
type Place = Pick<OpenRoute, "address" | "port">;

async function askWithRetries(route: Route, place: Place, signal?: AbortSignal): Promise<FirstAnswer> {
  const protocol = route.protocol ?? protocolOf(route.url);
  const speaksHttp1 = protocolTraits[protocol].http1 || protocol === "https";
  for (let attempt = 1; ; attempt++) {
    // The limit holds for the whole answer: an answer that comes byte by byte is never idle.
    const limit = AbortSignal.timeout(firstAnswerMs);
    const over = signal ? AbortSignal.any([signal, limit]) : limit;
    try {
      return await (speaksHttp1 ? askOnce(route, place, over) : connectOnce(route, place, over));
    } catch (error) {
      signal?.throwIfAborted();
      if (attempt < attempts) await delay(betweenAttemptsMs, undefined, { signal });
      else {
        const late = `no ${speaksHttp1 ? "answer" : "connection"} within ${firstAnswerMs / 1_000} s`;
        const why = limit.aborted ? late : whyNot(error);
        throw new KubernetesError("LAMEDUCK_URL_NOT_ANSWERING", shownUrl(route.url), why);
      }
    }
  }
}

function askOnce(route: Route, { address, port }: Place, signal: AbortSignal): Promise<FirstAnswer> {
  const { url } = route;
  const form = parseRequest(route.request ?? {}, route.protocol ?? protocolOf(url));
  const { method, body } = form;
  const secure = isSecure(url);
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)(
      {
        host: address,
        port,
        method,
        path: `${url.pathname}${url.search}`,
        headers: { "user-agent": "lameduck-load", ...headerFields(form), host: hostOf(route) },
        agent: false,
        signal,
        ...(secure ? tlsOf(route) : {}),
      },
      (response) => {
        const reported = ["x-lameduck-pod", ...claimHeaders].map((name) => response.headers[name]);
        const pod = reported.find((value) => typeof value === "string");
        response.on("error", () => undefined).resume();
        resolve({ status: response.statusCode ?? 0, pod });
      },
    );
    request.on("error", reject);
    request.end(body === undefined ? undefined : Buffer.from(body, "base64"));
  });
}

/** For protocols other than HTTP/1.1. The load itself learns the expected answers. */
async function connectOnce(
  route: Route,
  { address, port }: Place,
  signal: AbortSignal,
): Promise<FirstAnswer> {
  const place = { host: address, port };
  const secure = isSecure(route.url);
  const socket = secure ? connectTls({ ...place, ...tlsOf(route), ALPNProtocols: ["h2"] }) : connect(place);
  try {
    await once(socket, secure ? "secureConnect" : "connect", { signal });
    return { status: 0, pod: undefined };
  } finally {
    socket.on("error", () => undefined).destroy();
  }
}

function tlsOf(route: Route): ConnectionOptions {
  const { verify = true, ca } = route.tls ?? {};
  const name = hostOf(route).replace(/:\d+$/, "");
  const servername = isIP(name) === 0 && !name.startsWith("[") ? name : undefined;
  return withoutUndefined({ rejectUnauthorized: verify, ca, servername });
}

function whyNot(error: unknown): string {
  const { message, code = "" } = error as NodeJS.ErrnoException;
  if (isImpostor(code))
    return `its certificate is not believed: ${message}; --ca-file names who signs it, --insecure asks for no proof`;
  return message === "" ? code || "no connection" : message;
}
