import { lookup } from "node:dns/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, isIP } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { claimHeaders } from "../../load/answer.ts";
import { protocolTraits, type LoadProtocol } from "../../load/protocols.ts";
import { KubernetesError } from "../errors.ts";
import { portOf, protocolOf } from "./protocol.ts";

/** One way for requests into the cluster: an ingress, a Service's address, a node's port. */
export interface Route {
  /** What the sender is called in sentences and results. */
  readonly name: string;
  readonly url: URL;
  /** What the load speaks there; default what the URL's scheme says. */
  readonly protocol?: LoadProtocol;
}

/** A route whose name was looked up and that has answered. */
export interface OpenRoute extends Route {
  readonly address: string;
  readonly port: number;
  /** What it answered at first; 0 where it was only connected to, because it speaks something else than HTTP/1.1. */
  readonly status: number;
  /** The pod that the first answer named; undefined where answers name none. */
  readonly pod: string | undefined;
  /** Other addresses the name has: the load goes to the first only. */
  readonly others: readonly string[];
}

const firstAnswer = 10_000;
/** A Service that was made just now, or is being rolled, may refuse for a moment. */
const attempts = 3;
const between = 1_000;

/** "ingress=http://shop.example/cart" or the URL alone, which is then called by its host. @throws {KubernetesError} LAMEDUCK_BAD_URL. */
export function parseRoutes(texts: readonly string[], protocol?: LoadProtocol): Route[] {
  const routes = texts.map((text) => parseRoute(text, protocol));
  const seen = new Set<string>();
  for (const { name } of routes) {
    if (seen.has(name))
      throw new KubernetesError("LAMEDUCK_BAD_URL", "--url", `two are called "${name}": name them, NAME=URL`);
    seen.add(name);
  }
  return routes;
}

function parseRoute(text: string, protocol: LoadProtocol | undefined): Route {
  const [, given, address = text] = /^([A-Za-z][\w.-]*)=(.*)$/.exec(text) ?? [];
  const url = URL.parse(address);
  if (!url) throw new KubernetesError("LAMEDUCK_BAD_URL", "--url", `"${address}" is not a URL`);
  if (url.username !== "" || url.password !== "")
    throw new KubernetesError("LAMEDUCK_BAD_URL", "--url", "a name and password in a URL are not sent");
  return { name: given ?? url.host, url, protocol: protocolOf(url, protocol) };
}

/** Looks the name up and asks once. @throws {KubernetesError} LAMEDUCK_URL_NOT_ANSWERING. */
export async function openRoute(route: Route): Promise<OpenRoute> {
  const host = route.url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = portOf(route.url);
  const addresses = await resolveHost(host, route);
  const [address = ""] = addresses;
  const { status, pod } = await askPatiently(route, address, port);
  if (status >= 500)
    throw new KubernetesError("LAMEDUCK_URL_NOT_ANSWERING", route.url.href, `it answers ${status}`);
  return { ...route, address, port, status, pod, others: addresses.slice(1) };
}

async function resolveHost(host: string, { url }: Route): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    const found = await lookup(host, { all: true });
    return found.map(({ address }) => address);
  } catch (error) {
    throw new KubernetesError("LAMEDUCK_URL_NOT_ANSWERING", url.href, messageOf(error));
  }
}

interface FirstAnswer {
  readonly status: number;
  readonly pod: string | undefined;
}

async function askPatiently(route: Route, address: string, port: number): Promise<FirstAnswer> {
  const protocol = route.protocol ?? protocolOf(route.url);
  const { secure, http1 } = protocolTraits[protocol];
  const ask = http1 || protocol === "https" ? askOnce : connectOnce;
  for (let attempt = 1; ; attempt++)
    try {
      return await ask(route, { address, port, secure });
    } catch (error) {
      if (attempt < attempts) await delay(between);
      else throw new KubernetesError("LAMEDUCK_URL_NOT_ANSWERING", route.url.href, messageOf(error));
    }
}

interface Place {
  readonly address: string;
  readonly port: number;
  readonly secure: boolean;
}

function askOnce({ url }: Route, { address, port, secure }: Place): Promise<FirstAnswer> {
  return new Promise((resolve, reject) => {
    const request = (secure ? httpsRequest : httpRequest)(
      {
        host: address,
        port,
        path: `${url.pathname}${url.search}`,
        headers: { host: url.host, "user-agent": "lameduck-load" },
        agent: false,
        timeout: firstAnswer,
        // Like the load: what is measured is who ends connections when.
        ...(secure ? { rejectUnauthorized: false, ...serverName(url) } : {}),
      },
      (response) => {
        const told = ["x-lameduck-pod", ...claimHeaders].map((name) => response.headers[name]);
        const pod = told.find((value) => typeof value === "string");
        response.resume();
        resolve({ status: response.statusCode ?? 0, pod });
      },
    );
    request.on("timeout", () => request.destroy(new Error(`no answer within ${firstAnswer / 1_000} s`)));
    request.on("error", reject);
    request.end();
  });
}

function connectOnce(_route: Route, { address, port }: Place): Promise<FirstAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, timeout: firstAnswer });
    socket.on("timeout", () => socket.destroy(new Error(`no connection within ${firstAnswer / 1_000} s`)));
    socket.on("error", reject);
    socket.on("connect", () => {
      socket.destroy();
      resolve({ status: 0, pod: undefined });
    });
  });
}

function serverName({ hostname }: URL): { readonly servername?: string } {
  return isIP(hostname) === 0 && !hostname.startsWith("[") ? { servername: hostname } : {};
}

function messageOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message === "" ? (code ?? "no connection") : message;
}
