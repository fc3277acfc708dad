import { canonicalAddress } from "@lameduck/protocol";
import { http as facts } from "@lameduck/senders";
import { askHttp, atUrl, fieldsOf, readJson } from "./ask.ts";
import { stateConsumer, unreadable, type Consumer, type ConsumerKind } from "../consumer.ts";

/**
 * Any other proxy, by an HTTP endpoint of its own. The request is {"version":1,"addresses":[...]}. The answer is {"version":1,"used":[...]}: those of
 * the addresses that it may still open connections to. docs/operate/watchers.md has the contract.
 */
export function httpEndpoint(url: URL): Consumer {
  return stateConsumer(facts, async (signal, addresses) => {
    const body = JSON.stringify({ version: 1, addresses });
    const headers = { "content-type": "application/json" };
    return usedIn(await askHttp(url, signal, { method: "POST", body, headers }), url.href);
  });
}

/** @throws {OperatorError} where the answer is not as agreed. */
export function usedIn(text: string, place: string): ReadonlySet<string> {
  const { version, used } = fieldsOf(readJson(text, place), place);
  if (version !== 1 || !Array.isArray(used)) throw unreadable(place, "version is not 1, or used is no list");
  return new Set(
    used.map((one: unknown) => {
      const address = canonicalAddress(one);
      if (address === undefined) throw unreadable(place, "used holds something that is no address");
      return address;
    }),
  );
}

export const httpKind: ConsumerKind = {
  facts,
  make: atUrl(httpEndpoint),
};
