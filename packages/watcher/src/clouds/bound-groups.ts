import type { KubernetesObject } from "@lameduck/kube";
import { objectKinds } from "@lameduck/senders";
import type { Consumer } from "../consumer.ts";
import { AwsApi, regionOf } from "./aws.ts";
import { GcpApi, type EndpointGroupName } from "./gcp.ts";
import type { CallBudget } from "./call-budget.ts";

/** The clouds whose groups are found in objects of the cluster. */
export const discoveredKinds = ["aws", "gcp"] as const;
export type DiscoveredKind = (typeof discoveredKinds)[number];

/** Where their objects are; EKS in Auto Mode has a group of its own for them. */
const pathsOf = (cloud: DiscoveredKind): readonly string[] =>
  objectKinds
    .filter(({ need }) => need === `load-balancer/${cloud}`)
    .map(({ group, versions, plural }) => `/apis/${group}/${versions[0]}/${plural}`);

/** A group of addresses at a cloud's API. */
export interface BoundGroup {
  /** What it is called there. */
  readonly id: string;
  /** Makes what reads it; or why nothing does. */
  readonly reader: (() => Consumer) | { readonly problem: string };
}

/** What an object says: the Service, as "NAMESPACE/NAME", and the groups that have its pods. */
export interface Binding {
  readonly service: string;
  readonly groups: readonly BoundGroup[];
}

export interface DiscoveredCloud {
  readonly kind: DiscoveredKind;
  /** Of the objects; those that a cluster does not have cost nothing. */
  readonly paths: readonly string[];
  /** What its groups share. */
  readonly calls: CallBudget;
  /** Undefined for an object that binds no pods: then nodes choose them. */
  readonly read: (object: KubernetesObject) => Binding | undefined;
}

interface TargetGroupBinding extends KubernetesObject {
  readonly spec?: {
    readonly targetGroupARN?: unknown;
    readonly targetType?: unknown;
    readonly iamRoleArnToAssume?: unknown;
    readonly serviceRef?: { readonly name?: unknown };
  };
}

interface EndpointGroup extends KubernetesObject {
  readonly status?: {
    readonly networkEndpointGroups?: readonly {
      readonly selfLink?: unknown;
      readonly networkEndpointType?: unknown;
    }[];
  };
}

/** @param endpoint of a stand-in of the cloud's API. */
export function discoveredCloud(kind: DiscoveredKind, calls: CallBudget, endpoint?: string): DiscoveredCloud {
  return kind === "aws" ? ofAws(calls, endpoint) : ofGcp(new GcpApi({ calls, endpoint }));
}

/** The controller of AWS makes a TargetGroupBinding for each target group. */
function ofAws(calls: CallBudget, endpoint: string | undefined): DiscoveredCloud {
  const regions = new Map<string | undefined, AwsApi>();
  const apiOf = (arn: string): AwsApi => {
    const region = regionOf(arn);
    const api = regions.get(region) ?? new AwsApi(region, { calls, endpoint });
    regions.set(region, api);
    return api;
  };
  return {
    kind: "aws",
    calls,
    paths: pathsOf("aws"),
    read: ({ metadata, spec = {} }: TargetGroupBinding) => {
      const { targetGroupARN: arn, targetType, iamRoleArnToAssume: role, serviceRef } = spec;
      if (targetType === "instance" || typeof serviceRef?.name !== "string") return undefined;
      const service = `${metadata.namespace}/${serviceRef.name}`;
      const unread = (problem: string): Binding => ({
        service,
        groups: [{ id: `TargetGroupBinding ${metadata.name}`, reader: { problem } }],
      });
      if (typeof arn !== "string" || !arn.startsWith("arn:")) return unread("it names no ARN");
      if (typeof role === "string" && role !== "")
        return unread("it is of another account (iamRoleArnToAssume)");
      return { service, groups: [{ id: arn, reader: () => apiOf(arn).targetGroup(arn) }] };
    },
  };
}

/** GKE makes a ServiceNetworkEndpointGroup for each port of a Service, with a group in each zone. */
function ofGcp(api: GcpApi): DiscoveredCloud {
  return {
    kind: "gcp",
    calls: api.calls,
    paths: pathsOf("gcp"),
    read: ({ metadata, status = {} }: EndpointGroup) => {
      const name = metadata.labels?.["networking.gke.io/service-name"];
      if (name === undefined) return undefined;
      const { networkEndpointGroups: all = [] } = status;
      // Of nodes.
      const groups = all.filter(({ networkEndpointType }) => networkEndpointType !== "GCE_VM_IP");
      if (all.length > 0 && groups.length === 0) return undefined;
      const none = {
        id: `ServiceNetworkEndpointGroup ${metadata.name}`,
        reader: { problem: "it names no group" },
      };
      return {
        service: `${metadata.namespace}/${name}`,
        groups: groups.length === 0 ? [none] : groups.map(({ selfLink }) => endpointGroup(selfLink, api)),
      };
    },
  };
}

function endpointGroup(selfLink: unknown, api: GcpApi): BoundGroup {
  const id = String(selfLink);
  const found = /\/projects\/([\w.:-]+)\/zones\/([\w-]+)\/networkEndpointGroups\/([\w-]+)$/.exec(id);
  if (!found) return { id, reader: { problem: "its link names no zone" } };
  const [, project = "", zone = "", group = ""] = found;
  const name: EndpointGroupName = { project, zone, group };
  return { id, reader: () => api.endpointGroup(name) };
}
