import { lookup } from "node:dns/promises";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { KubernetesError } from "../errors.ts";

/** One way for requests into the cluster: an ingress, a Service's address, a node's port. */
export interface Route {
  /** What the sender is called in sentences and results. */
  readonly name: string;
  readonly url: URL;
}

/** A route whose name was looked up and that has answered. */
export interface OpenRoute extends Route {
  readonly address: string;
  readonly port: number;
  /** What it answered at first. */
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
export function parseRoutes(texts: readonly string[]): Route[] {
  const routes = texts.map((text) => parseRoute(text));
  const seen = new Set<string>();
  for (const { name } of routes) {
    if (seen.has(name))
      throw new KubernetesError("LAMEDUCK_BAD_URL", "--url", `two are called "${name}": name them, NAME=URL`);
    seen.add(name);
  }
  return routes;
}

function parseRoute(text: string): Route {
  const [, given, address = text] = /^([A-Za-z][\w.-]*)=(.*)$/.exec(text) ?? [];
  const url = URL.parse(address);
  if (!url) throw new KubernetesError("LAMEDUCK_BAD_URL", "--url", `"${address}" is not a URL`);
  if (url.protocol !== "http:")
    throw new KubernetesError("LAMEDUCK_BAD_URL", "--url", `"${address}": only http is spoken here`);
  if (url.username !== "" || url.password !== "")
    throw new KubernetesError("LAMEDUCK_BAD_URL", "--url", "a name and password in a URL are not sent");
  return { name: given ?? url.host, url };
}

/** Looks the name up and asks once. @throws {KubernetesError} LAMEDUCK_URL_NOT_ANSWERING. */
export async function openRoute(route: Route): Promise<OpenRoute> {
  const host = route.url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = Number(route.url.port || "80");
  const addresses = await resolveHost(host, route);
  const [address = ""] = addresses;
  const response = await askPatiently(route, address, port);
  const pod = headerOf(response, "x-lameduck-pod");
  response.resume();
  const status = response.statusCode ?? 0;
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

async function askPatiently(route: Route, address: string, port: number): Promise<IncomingMessage> {
  for (let attempt = 1; ; attempt++)
    try {
      return await ask(route, address, port);
    } catch (error) {
      if (attempt === attempts) throw error;
      await delay(between);
    }
}

function ask({ url }: Route, address: string, port: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: address,
        port,
        path: `${url.pathname}${url.search}`,
        headers: { host: url.host, "user-agent": "lameduck-load" },
        agent: false,
        timeout: firstAnswer,
      },
      resolve,
    );
    request.on("timeout", () => request.destroy(new Error(`no answer within ${firstAnswer / 1_000} s`)));
    request.on("error", (error) =>
      reject(new KubernetesError("LAMEDUCK_URL_NOT_ANSWERING", url.href, messageOf(error))),
    );
    request.end();
  });
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : undefined;
}

function messageOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message === "" ? (code ?? "no connection") : message;
}
