import type * as sdk from "@aws-sdk/client-elastic-load-balancing-v2";
import { canonicalAddress } from "@lameduck/protocol";
import { aws as facts } from "@lameduck/senders";
import { fieldsOf } from "./ask.ts";
import { stateConsumer, unreadable, type Consumer, type ConsumerKind, optionalPackage } from "../consumer.ts";

type Sdk = typeof sdk;
type Client = InstanceType<Sdk["ElasticLoadBalancingV2Client"]>;

/** Milliseconds between two polls: the API has a rate limit for each account. */
const rarely = 2_000;

/** A target group of AWS with addresses as targets. @param endpoint of a stand-in; that of AWS unless given. */
export function awsTargetGroup(arn: string, endpoint?: string): Consumer {
  let client: Promise<{ library: Sdk; client: Client }> | undefined;
  const region = arn.split(":")[3];
  const connect = async (): Promise<{ library: Sdk; client: Client }> => {
    const library = await optionalPackage<Sdk>("@aws-sdk/client-elastic-load-balancing-v2");
    const own = {
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint }),
    };
    return { library, client: new library.ElasticLoadBalancingV2Client({ ...own, maxAttempts: 1 }) };
  };
  return stateConsumer(
    facts,
    async (signal) => {
      client ??= connect();
      client.catch(() => (client = undefined));
      const { library, client: own } = await client;
      const command = new library.DescribeTargetHealthCommand({ TargetGroupArn: arn });
      const { TargetHealthDescriptions } = await own
        .send(command, { abortSignal: signal })
        .catch((error: unknown) => {
          throw unreadable(arn, error instanceof Error ? `${error.name}: ${error.message}` : String(error));
        });
      return targetsInUse(TargetHealthDescriptions, arn);
    },
    rarely,
  );
}

/** @throws {OperatorError} where targets are no addresses: then kube-proxies choose the pods. */
function targetsInUse(descriptions: unknown, place: string): ReadonlySet<string> {
  if (!Array.isArray(descriptions)) throw unreadable(place, "it has no list of targets");
  const used = new Set<string>();
  for (const description of descriptions) {
    const { Target, TargetHealth } = fieldsOf(description, place);
    const { Id } = fieldsOf(Target, place);
    const address = typeof Id === "string" ? canonicalAddress(Id) : undefined;
    if (address === undefined) throw unreadable(place, `the target ${String(Id)} is no address`);
    // Where all targets are unhealthy AWS sends to all of them.
    if (fieldsOf(TargetHealth, place)["State"] !== "draining") used.add(address);
  }
  return used;
}

export const awsKind: ConsumerKind = {
  facts,
  make: (where) => (where.startsWith("arn:") ? awsTargetGroup(where) : undefined),
};
