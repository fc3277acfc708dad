import type * as sdk from "@aws-sdk/client-elastic-load-balancing-v2";
import { orAborted } from "@lameduck/drain/common";
import { canonicalAddress } from "@lameduck/protocol";
import { aws as facts, awsBalancerOf } from "@lameduck/senders";
import { fieldsOf } from "../consumers/ask.ts";
import { unreadable, type Consumer, type ConsumerKind, optionalPackage } from "../consumer.ts";
import { CallBudget } from "./call-budget.ts";
import { cloudGroup } from "./cloud-group.ts";

type Sdk = typeof sdk;
type Client = InstanceType<Sdk["ElasticLoadBalancingV2Client"]>;

/** For an answer. */
const longestMs = 5_000;
const throttles = new Set([
  "Throttling",
  "ThrottlingException",
  "RequestLimitExceeded",
  "TooManyRequestsException",
]);

export interface AwsOptions {
  /** Of a stand-in; that of AWS unless given. */
  readonly endpoint?: string | undefined;
  readonly calls?: CallBudget | undefined;
  readonly now?: () => number;
}

/** The API of one region. */
export class AwsApi {
  readonly #region: string | undefined;
  readonly #options: AwsOptions;
  readonly calls: CallBudget;
  #connected: Promise<{ readonly library: Sdk; readonly client: Client }> | undefined;

  constructor(region: string | undefined, options: AwsOptions = {}) {
    this.#region = region;
    this.#options = options;
    this.calls = options.calls ?? new CallBudget();
  }

  /** A target group with addresses as targets. */
  targetGroup(arn: string): Consumer {
    let balancer: ReturnType<typeof awsBalancerOf>;
    return cloudGroup(
      facts,
      async (isUrgent, signal) => {
        balancer ??= await this.#balancerOf(arn, isUrgent, signal);
        const { name, sendsOnSeconds } = balancer;
        const used = await this.#targetsInUse(arn, isUrgent, signal);
        return {
          used,
          sendsOnMs: sendsOnSeconds * 1_000,
          basis: sendsOnSeconds > 0 ? "time" : "state",
          reason: `deregistered; ${name} may send for ${sendsOnSeconds} s more`,
        };
      },
      this.calls,
      this.#options.now,
    );
  }

  async #balancerOf(arn: string, isUrgent: boolean, signal: AbortSignal) {
    const { TargetGroups } = await this.#call(arn, isUrgent, signal, ({ client, library }, options) =>
      client.send(new library.DescribeTargetGroupsCommand({ TargetGroupArns: [arn] }), options),
    );
    const [group, ...others] = Array.isArray(TargetGroups) ? (TargetGroups as unknown[]) : [];
    if (group === undefined || others.length > 0) throw unreadable(arn, "it is not described");
    const { TargetType, Protocol, TargetGroupArn } = fieldsOf(group, arn);
    if (TargetGroupArn !== arn) throw unreadable(arn, "another target group is described");
    if (TargetType !== "ip")
      throw unreadable(arn, `its targets are no addresses (${String(TargetType)}): nodes choose the pods`);
    const found = awsBalancerOf(Protocol);
    if (found === undefined) throw unreadable(arn, `its protocol ${String(Protocol)} is not known`);
    return found;
  }

  async #targetsInUse(arn: string, isUrgent: boolean, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { TargetHealthDescriptions } = await this.#call(
      arn,
      isUrgent,
      signal,
      ({ client, library }, options) =>
        client.send(new library.DescribeTargetHealthCommand({ TargetGroupArn: arn }), options),
    );
    return targetsInUse(TargetHealthDescriptions, arn);
  }

  async #call<T>(
    place: string,
    isUrgent: boolean,
    signal: AbortSignal,
    send: (
      connected: { readonly library: Sdk; readonly client: Client },
      options: { readonly abortSignal: AbortSignal },
    ) => Promise<T>,
  ): Promise<T> {
    const connected = await (this.#connected ??= this.#connect());
    await this.calls.take(isUrgent, signal);
    const limit = AbortSignal.any([signal, AbortSignal.timeout(longestMs)]);
    try {
      // Whoever gives the credentials knows no signal.
      const answer = await orAborted(send(connected, { abortSignal: limit }), limit);
      this.calls.answered();
      return answer;
    } catch (error) {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      if (throttles.has(name)) this.calls.throttled();
      throw unreadable(place, `${name}: ${message}`, { cause: error });
    }
  }

  async #connect(): Promise<{ readonly library: Sdk; readonly client: Client }> {
    try {
      const library = await optionalPackage<Sdk>("@aws-sdk/client-elastic-load-balancing-v2");
      const { endpoint } = this.#options;
      const own = {
        ...(this.#region === undefined ? {} : { region: this.#region }),
        ...(endpoint === undefined ? {} : { endpoint }),
      };
      return { library, client: new library.ElasticLoadBalancingV2Client({ ...own, maxAttempts: 1 }) };
    } catch (error) {
      this.#connected = undefined;
      throw error;
    }
  }
}

export const regionOf = (arn: string): string | undefined => arn.split(":")[3];

/** A target group with addresses as targets. */
export function awsTargetGroup(arn: string, options: AwsOptions = {}): Consumer {
  return new AwsApi(regionOf(arn), options).targetGroup(arn);
}

/** @throws {OperatorError} where targets are no addresses: then kube-proxies choose the pods. */
function targetsInUse(descriptions: unknown, place: string): ReadonlySet<string> {
  if (!Array.isArray(descriptions)) throw unreadable(place, "it has no list of targets");
  const used = new Set<string>();
  for (const description of descriptions) {
    const { Target, TargetHealth } = fieldsOf(description, place);
    const { Id } = fieldsOf(Target, place);
    const address = canonicalAddress(Id);
    if (address === undefined) throw unreadable(place, `the target ${String(Id)} is no address`);
    const { State } = fieldsOf(TargetHealth, place);
    if (typeof State !== "string") throw unreadable(place, `the target ${address} has no state`);
    // Where all targets are unhealthy AWS sends to all of them.
    if (State !== "draining") used.add(address);
  }
  return used;
}

export const awsKind: ConsumerKind = {
  facts,
  make: (where) => (where.startsWith("arn:") ? awsTargetGroup(where) : undefined),
};
