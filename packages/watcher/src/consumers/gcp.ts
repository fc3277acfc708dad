import type * as sdk from "@google-cloud/compute";
import { canonicalAddress } from "@lameduck/protocol";
import { gcp as facts } from "@lameduck/senders";
import { fieldsOf } from "./ask.ts";
import { stateConsumer, unreadable, type Consumer, type ConsumerKind, optionalPackage } from "../consumer.ts";

type Sdk = typeof sdk;
type Client = InstanceType<Sdk["NetworkEndpointGroupsClient"]>;
export type GcpOptions = NonNullable<ConstructorParameters<Sdk["NetworkEndpointGroupsClient"]>[0]>;

/** Milliseconds between two polls: the API has a rate limit for each project. */
const rarely = 2_000;
/** Milliseconds. */
const longest = 5_000;

/** A zonal network endpoint group of Google Cloud. @param options for a stand-in; those of the environment unless given. */
export function gcpEndpointGroup(
  { project, zone, group }: { readonly project: string; readonly zone: string; readonly group: string },
  options: GcpOptions = {},
): Consumer {
  let client: Promise<Client> | undefined;
  const connect = async (): Promise<Client> => {
    const { NetworkEndpointGroupsClient } = await optionalPackage<Sdk>("@google-cloud/compute");
    return new NetworkEndpointGroupsClient({ fallback: true, ...options });
  };
  return stateConsumer(
    facts,
    async () => {
      client ??= connect();
      client.catch(() => (client = undefined));
      const own = await client;
      const request = {
        project,
        zone,
        networkEndpointGroup: group,
        networkEndpointGroupsListEndpointsRequestResource: {},
      };
      const used = new Set<string>();
      try {
        // All pages are read: addresses on a missing page would look unused.
        for await (const entry of own.listNetworkEndpointsAsync(request, { timeout: longest }))
          used.add(endpointOf(entry, group));
      } catch (error) {
        throw unreadable(group, error instanceof Error ? error.message : String(error), { cause: error });
      }
      return used;
    },
    rarely,
  );
}

function endpointOf(entry: unknown, place: string): string {
  const { ipAddress, ipv6Address } = fieldsOf(fieldsOf(entry, place)["networkEndpoint"], place);
  const text = typeof ipAddress === "string" && ipAddress !== "" ? ipAddress : ipv6Address;
  const address = typeof text === "string" ? canonicalAddress(text) : undefined;
  if (address === undefined) throw unreadable(place, "an endpoint has no address");
  return address;
}

export const gcpKind: ConsumerKind = {
  facts,
  make: (where) => {
    const [project = "", zone = "", group = "", ...rest] = where.split("/");
    return group === "" || rest.length > 0 ? undefined : gcpEndpointGroup({ project, zone, group });
  },
};
