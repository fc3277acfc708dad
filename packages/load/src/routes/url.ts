import { KubernetesError } from "@lameduck/kube";
import { protocolTraits, type LoadProtocol } from "../protocols.ts";

/** What a URL's scheme alone says. */
const bySchemes: Readonly<Record<string, LoadProtocol>> = {
  "http:": "http",
  "https:": "https",
  "ws:": "ws",
  "wss:": "ws",
};

export function isSecure({ protocol }: URL): boolean {
  return protocol === "https:" || protocol === "wss:";
}

/** @throws {KubernetesError} LAMEDUCK_BAD_URL where the load cannot speak what the URL and the option ask for. */
export function protocolOf(url: URL, wanted?: LoadProtocol): LoadProtocol {
  const byScheme = bySchemes[url.protocol];
  const protocol = wanted ?? byScheme;
  if (protocol === undefined || byScheme === undefined)
    throw badUrl(`"${shownUrl(url)}": the load speaks http, https, ws and wss`);
  const { secure, overTls, name } = protocolTraits[protocol];
  if (isSecure(url) ? !overTls : secure)
    throw badUrl(
      `"${shownUrl(url)}": ${name} is spoken ${secure ? "over TLS (https://)" : "in clear (http://)"} here`,
    );
  return protocol;
}

export function badUrl(problem: string): KubernetesError {
  return new KubernetesError("LAMEDUCK_BAD_URL", "--url", problem);
}

/** The port to connect to where the URL names none. */
export function portOf(url: URL): number {
  return Number(url.port || (isSecure(url) ? "443" : "80"));
}

/** Names of query parameters whose values are credentials. */
const credentials = /token|secret|passw|pwd|api-?_?key|^key$|signature|^sig$|auth|credential|jwt|session/i;

export function hasCredentials(url: URL): boolean {
  return [...url.searchParams.keys()].some((name) => credentials.test(name));
}

/** Text that is no URL cannot be split into parts. Anything that may be a name, a password or a token is left out. */
export function withoutSecrets(text: string): string {
  return text.replace(/\/\/.*@/, "//").replace(/[?#].*$/, "?...");
}

/** For plans, results and errors, which are kept and passed on: values of credentials are left out. */
export function shownUrl(url: URL): string {
  if (!hasCredentials(url)) return url.href;
  const shown = new URL(url);
  for (const name of new Set(url.searchParams.keys()))
    if (credentials.test(name)) shown.searchParams.set(name, "REDACTED");
  return shown.href;
}
