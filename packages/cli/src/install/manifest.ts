import { operatorNames } from "@lameduck/protocol";
import { parseAllDocuments } from "yaml";
import { pageText } from "../about.ts";
import { openedTo, type Peer } from "./metrics-from.ts";

/** An object to be applied. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export type Mode = "webhook" | "policy";

export interface Wanted {
  readonly mode: Mode;
  readonly namespace: string;
  /** With the coordinator and what reports to it. */
  readonly acknowledgements?: boolean | undefined;
  /** That may report to the coordinator besides the watchers, as "NAMESPACE/NAME". */
  readonly consumerAccounts?: readonly string[] | undefined;
  /** Who may read the metrics where NetworkPolicies are enforced. */
  readonly metricsFrom?: readonly Peer[] | undefined;
  /** With the webhook that holds deletions. */
  readonly heldDeletions?: boolean | undefined;
  /** Instead of the one of this release. */
  readonly image?: string | undefined;
}

/** The objects of this release in the order in which they are applied. */
export function manifestsOf(wanted: Wanted): Manifest[] {
  const { namespace, image, consumerAccounts = [], metricsFrom = [] } = wanted;
  const objects = parseAllDocuments(pageText(pageFor(wanted))).flatMap(
    (one) => (one.toJS() as Manifest | null) ?? [],
  );
  return objects
    .map((object) => replaced(object, namespace, image) as Manifest)
    .map((object) => (isCoordinator(object) ? allowing(object, consumerAccounts) : object))
    .map((object) =>
      object.kind === "NetworkPolicy" && metricsFrom.length > 0 ? openedTo(object, metricsFrom) : object,
    )
    .sort((a, b) => rank(a) - rank(b));
}

/** Rendered from the Helm chart, so that Helm, kubectl and this command install the same. */
function pageFor({ mode, acknowledgements = false, heldDeletions = false }: Wanted): string {
  if (mode === "policy") return "install-policy-only.yaml";
  const options = [acknowledgements ? "-acknowledgements" : "", heldDeletions ? "-held-deletions" : ""];
  return `install${options.join("")}.yaml`;
}

/** The namespace's name wherever it stands, in expressions too, and the image of each container. */
function replaced(value: unknown, namespace: string, image: string | undefined, key = ""): unknown {
  if (Array.isArray(value)) return value.map((one) => replaced(one, namespace, image));
  if (typeof value === "string")
    return key === "image" ? (image ?? value) : value.replaceAll(operatorNames.namespace, namespace);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, replaced(one, namespace, image, name)]),
  );
}

const isCoordinator = ({ kind, metadata }: Manifest): boolean =>
  kind === "Deployment" && metadata.name === operatorNames.coordinator.workload;

interface OfDeployment {
  readonly template: { readonly spec: { readonly containers: readonly { readonly args: string[] }[] } };
}

/** The coordinator with these accounts among its arguments, where the chart writes `consumerAccounts`. */
function allowing(coordinator: Manifest, accounts: readonly string[]): Manifest {
  const flag = "--consumer-account=";
  const spec = structuredClone(coordinator["spec"]) as OfDeployment;
  for (const { args } of spec.template.spec.containers) {
    const last = args.findLastIndex((one) => one.startsWith(flag));
    args.splice(last + 1, 0, ...accounts.map((account) => `${flag}${account}`));
  }
  return { ...coordinator, spec };
}

/** What others need comes first, and what sends pods to us last. */
const order = ["Namespace", "CustomResourceDefinition", "ServiceAccount"] as const;
const last = /^(Mutating|Validating)(Webhook|Admission)/;

function rank({ kind }: Manifest): number {
  const first = order.findIndex((one) => one === kind);
  if (first >= 0) return first;
  return last.test(kind) ? order.length + 1 : order.length;
}
