import { badLoad } from "./errors.ts";
import { protocolTraits, type LoadProtocol } from "./protocols.ts";

/** What a person may say of every request beside its path. */
export interface RequestOptions {
  /** Default: GET, and POST with a body. */
  readonly method?: string;
  /** "Name: value" each. */
  readonly headers?: readonly string[];
  /**
   * Base64, so that it passes through JSON. Of a WebSocket the message, in which `{token}` stands for a text that is different in each; default:
   * the token alone.
   */
  readonly body?: string;
  /** Text of the message that answers; the oldest message without an answer is answered by it. Default: the token. */
  readonly answer?: string;
  /** Statuses, or gRPC's, that the request is meant to get although they are failures elsewhere. */
  readonly meantStatuses?: readonly number[];
}

/** The same, checked. Names are in lower case. */
export interface RequestForm {
  readonly method: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | undefined;
  readonly message: string;
  readonly answer: string | undefined;
}

/** Token in a message of a WebSocket, by which the answer is recognised. */
export const tokenPlace = "{token}";

const methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] as const;

/** Headers of one connection, which a proxy does not pass on (RFC 9110, 7.6.1). */
export const perConnectionHeaders = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
] as const;

/** Headers that the load writes itself, or that may not be set. */
const own = new Set<string>([
  ...perConnectionHeaders,
  "content-length",
  "expect",
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-extensions",
]);

/** So large that a ConfigMap or Secret still holds it beside the program of the load's pods. */
const mostBodyBytes = 500_000;

/** @throws {LoadError} LAMEDUCK_BAD_LOAD. */
export function parseRequest(
  { method: verb, headers = [], body: sent, answer }: RequestOptions,
  protocol: LoadProtocol,
): RequestForm {
  const [body, message] = protocol === "ws" ? [undefined, textOf(sent)] : [sent, undefined];
  const method = verb ?? (body === undefined ? "GET" : "POST");
  if (protocol !== "ws" && answer !== undefined) throw badLoad("--answer", "goes with the protocol ws only");
  if (message !== undefined && answer === undefined && !message.includes(tokenPlace))
    throw badLoad("--body", `needs ${tokenPlace}, which comes back in the answer, or an --answer`);
  if (answer === "") throw badLoad("--answer", "is empty: every message would answer");
  const known = methods.find((one) => one === method.toUpperCase());
  if (known === undefined) throw badLoad("--method", `"${method}" is none of ${methods.join(", ")}`);
  const { name, methods: any } = protocolTraits[protocol];
  if (!any && (known !== "GET" || body !== undefined))
    throw badLoad(body === undefined ? "--method" : "--body", `${name} has a method and messages of its own`);
  if (body !== undefined && (known === "GET" || known === "HEAD"))
    throw badLoad("--body", `a ${known} has none: name another method`);
  if (body !== undefined && body.length > (mostBodyBytes * 4) / 3)
    throw badLoad("--body", `more than ${mostBodyBytes / 1_000} kB`);
  const form = { method: known, headers: headers.map((text) => parseHeader(text)), body };
  return { ...form, message: message ?? tokenPlace, answer };
}

function textOf(base64: string | undefined): string | undefined {
  return base64 === undefined ? undefined : Buffer.from(base64, "base64").toString("utf8");
}

function parseHeader(text: string): readonly [string, string] {
  const [, name = "", value = ""] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*)$/.exec(text) ?? [];
  // Not the text itself: what is wrong may be in a secret.
  if (name === "") throw badLoad("--header", "one is not NAME: VALUE");
  if (!/^[\t -~\u0080-\u00ff]*$/.test(value))
    throw badLoad("--header", `the value of ${name} has characters that no header has`);
  const lower = name.toLowerCase();
  if (own.has(lower)) throw badLoad("--header", `${name} is written by the load itself`);
  return [lower, value.trimEnd()];
}

/** Our headers first, except those whose names the user has set. */
export function allHeaders(
  ours: readonly (readonly [name: string, value: string])[],
  { headers }: RequestForm,
): (readonly [name: string, value: string])[] {
  return [...ours.filter(([name]) => headers.every(([other]) => other !== name.toLowerCase())), ...headers];
}

/** Headers as Node's clients take them: several values of one name are a list. */
export function headerFields({ headers }: RequestForm): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = {};
  for (const [name, value] of headers) {
    const before = fields[name];
    fields[name] = before === undefined ? value : [before, value].flat();
  }
  return fields;
}

/** Head of an HTTP/1.1 request, its last empty line missing. */
export function headOf(
  method: string,
  path: string,
  headers: readonly (readonly [name: string, value: string])[],
): string {
  return [`${method} ${path} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`), ""].join(
    "\r\n",
  );
}
