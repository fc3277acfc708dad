import type * as auth from "google-auth-library";
import { orAborted, shown } from "@lameduck/drain/common";
import { canonicalAddress } from "@lameduck/protocol";
import { gcp as facts } from "@lameduck/senders";
import { askHttp, fieldsOf, listOf, readJson } from "../consumers/ask.ts";
import { unreadable, type Consumer, type ConsumerKind, optionalPackage } from "../consumer.ts";
import { CallBudget } from "./call-budget.ts";
import { cloudGroup } from "./cloud-group.ts";

const scope = "https://www.googleapis.com/auth/compute.readonly";
/** For a token. */
const longestMs = 5_000;
/** Of 500 endpoints: more than a group may have. */
const mostPages = 100;

export interface GcpOptions {
  /** Of a stand-in; that of Google unless given. */
  readonly endpoint?: string | undefined;
  /** The value of the header; by the credentials of the environment unless given. */
  readonly authorization?: () => Promise<string>;
  readonly calls?: CallBudget | undefined;
  readonly now?: () => number;
}

export interface EndpointGroupName {
  readonly project: string;
  readonly zone: string;
  readonly group: string;
}

/** The Compute Engine API, as whoever the environment's credentials name. */
export class GcpApi {
  readonly #options: GcpOptions;
  readonly calls: CallBudget;
  #authorization: (() => Promise<string>) | undefined;

  constructor(options: GcpOptions = {}) {
    this.#options = options;
    this.calls = options.calls ?? new CallBudget();
    this.#authorization = options.authorization;
  }

  /** A zonal network endpoint group. */
  endpointGroup({ project, zone, group }: EndpointGroupName): Consumer {
    const { endpoint = "https://compute.googleapis.com", now } = this.#options;
    const path = `/compute/v1/projects/${project}/zones/${zone}/networkEndpointGroups/${group}/listNetworkEndpoints`;
    return cloudGroup(
      facts,
      async (isUrgent, signal) => {
        const used = new Set<string>();
        let more = "";
        // All pages are read: addresses on a missing page would look unused.
        for (let pages = 0; pages === 0 || more !== ""; pages++) {
          if (pages >= mostPages) throw unreadable(group, `it has more than ${mostPages} pages`);
          const url = new URL(path, endpoint);
          if (more !== "") url.searchParams.set("pageToken", more);
          const page = fieldsOf(readJson(await this.#ask(url, isUrgent, signal), group), group);
          if (page["kind"] !== "compute#networkEndpointGroupsListNetworkEndpoints")
            throw unreadable(group, "the answer is no list of endpoints");
          for (const entry of listOf(page["items"], group))
            for (const address of addressesOf(entry, group)) used.add(address);
          const { nextPageToken = "" } = page;
          if (typeof nextPageToken !== "string") throw unreadable(group, "the next page is not named");
          more = nextPageToken;
        }
        return { used, sendsOnMs: 0, basis: "syncs" };
      },
      this.calls,
      now,
    );
  }

  async #ask(url: URL, isUrgent: boolean, signal: AbortSignal): Promise<string> {
    this.#authorization ??= await credentials();
    // Whoever gives tokens may never answer.
    const limit = AbortSignal.any([signal, AbortSignal.timeout(longestMs)]);
    const authorization = await orAborted(this.#authorization(), limit).catch((error: unknown) => {
      throw unreadable("the credentials", error instanceof Error ? error.message : String(error), {
        cause: error,
      });
    });
    await this.calls.take(isUrgent, signal);
    try {
      const headers = { authorization, "content-type": "application/json" };
      const text = await askHttp(url, signal, { method: "POST", body: "{}", headers });
      this.calls.answered();
      return text;
    } catch (error) {
      if (/status 429|rateLimitExceeded|quotaExceeded/i.test(String(error))) this.calls.throttled();
      throw error;
    }
  }
}

async function credentials(): Promise<() => Promise<string>> {
  const { GoogleAuth } = await optionalPackage<typeof auth>("google-auth-library");
  const all = new GoogleAuth({ scopes: scope });
  return async () => {
    const token = await all.getAccessToken();
    if (typeof token !== "string" || token === "") throw new Error("there is no token");
    return `Bearer ${token}`;
  };
}

/** One of a pod with two families has two. */
function addressesOf(entry: unknown, place: string): readonly string[] {
  const { ipAddress, ipv6Address } = fieldsOf(fieldsOf(entry, place)["networkEndpoint"], place);
  const texts = [ipAddress, ipv6Address].filter((text) => text !== undefined && text !== "");
  if (texts.length === 0) throw unreadable(place, "an endpoint has no address");
  return texts.map((text) => {
    const address = canonicalAddress(text);
    if (address === undefined) throw unreadable(place, `${shown(text)} is no address`);
    return address;
  });
}

export const gcpKind: ConsumerKind = {
  facts,
  make: (where) => {
    const parts = where.split("/");
    const [project = "", zone = "", group = ""] = parts;
    const isWhole = parts.length === 3 && parts.every((part) => /^[\w.:-]+$/.test(part));
    return isWhole ? new GcpApi().endpointGroup({ project, zone, group }) : undefined;
  },
};
