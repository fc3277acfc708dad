import type { IncomingMessage } from "node:http";
import { operatorNames } from "@lameduck/protocol";
import type { Identity } from "../tokens.ts";
import type { Identifier } from "./identify.ts";

/** Who reports, and as which consumer; or why it may not. */
export type Reporter =
  | { readonly name: string; readonly identity: Identity }
  | { readonly status: 401 | 403 | 503; readonly error: string };

const unauthorized: Reporter = {
  status: 401,
  error: "a token of a ServiceAccount that may report is needed, for audience lameduck",
};

export async function reporterOf(
  { identifier, accounts }: { readonly identifier: Identifier; readonly accounts: readonly string[] },
  request: IncomingMessage,
): Promise<Reporter> {
  const name = nameIn(request.url ?? "");
  let identity: Identity | undefined;
  try {
    identity = identifier.cached(request) ?? (await identifier.identify(request));
  } catch {
    return { status: 503, error: "the API server does not say who this is; try again" };
  }
  if (!identity || name === undefined) return unauthorized;
  const { account } = identity;
  return accounts.includes(account)
    ? { name, identity }
    : { status: 403, error: `${account} may not report` };
}

/** The consumer's, in the path of its reports. */
function nameIn(url: string): string | undefined {
  const [path = ""] = url.slice(operatorNames.coordinator.paths.consumers.length + 1).split("?", 1);
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
