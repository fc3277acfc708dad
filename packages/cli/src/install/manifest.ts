import { operatorNames } from "@lameduck/protocol";
import { parseAllDocuments } from "yaml";
import { pageText } from "../about.ts";
import { readingBy } from "./node-reader.ts";
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
  /** Instead of kube-proxy's rules, on each node. */
  readonly nodeReader?: string | undefined;
  /** With the webhook that holds deletions. */
  readonly heldDeletions?: boolean | undefined;
  /** With the webhook that puts evictions of an only pod off until another is ready. */
  readonly surge?: boolean | undefined;
  /** Instead of the one of this release. */
  readonly image?: string | undefined;
}

/** The objects of this release in the order in which they are applied. */
export function manifestsOf(wanted: Wanted): Manifest[] {
  const { namespace, image, consumerAccounts = [], metricsFrom = [], nodeReader, surge = false } = wanted;
  const accounts = consumerAccounts.map((account) => `--consumer-account=${account}`);
  const { coordinator, workload } = operatorNames;
  return pagesFor(wanted)
    .flatMap((page) => parseAllDocuments(pageText(page)))
    .flatMap((one) => (one.toJS() as Manifest | null) ?? [])
    .map((object) => replaced(object, namespace, image) as Manifest)
    .map((object) => (isDeployment(object, coordinator.workload) ? withArguments(object, accounts) : object))
    .map((object) => (surge && isDeployment(object, workload) ? withArguments(object, ["--surge"]) : object))
    .map((object) => (nodeReader === undefined ? object : readingBy(object, nodeReader)))
    .map((object) =>
      object.kind === "NetworkPolicy" && metricsFrom.length > 0 ? openedTo(object, metricsFrom) : object,
    )
    .sort((a, b) => rank(a) - rank(b));
}

/** Rendered from the Helm chart, so that Helm, kubectl and this command install the same. */
function pagesFor({
  mode,
  acknowledgements = false,
  heldDeletions = false,
  surge = false,
}: Wanted): string[] {
  if (mode === "policy") return ["install-policy-only.yaml"];
  const options = [acknowledgements ? "-acknowledgements" : "", heldDeletions ? "-held-deletions" : ""];
  return [`install${options.join("")}.yaml`, ...(surge ? ["install-surge.yaml"] : [])];
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

const isDeployment = ({ kind, metadata }: Manifest, name: string): boolean =>
  kind === "Deployment" && metadata.name === name;

interface OfDeployment {
  readonly template: { readonly spec: { readonly containers: readonly { readonly args: string[] }[] } };
}

/** They come behind those of the same flag, where the chart writes them. */
function withArguments(deployment: Manifest, more: readonly string[]): Manifest {
  const [flag = ""] = more[0]?.split("=") ?? [];
  const spec = structuredClone(deployment["spec"]) as OfDeployment;
  for (const { args } of spec.template.spec.containers) {
    const last = args.findLastIndex((one) => one.startsWith(flag));
    args.splice(last < 0 ? args.length : last + 1, 0, ...more);
  }
  return { ...deployment, spec };
}

/** What others need comes first, and what sends pods to us last. */
const order = ["Namespace", "CustomResourceDefinition", "ServiceAccount"] as const;
const last = /^(Mutating|Validating)(Webhook|Admission)/;

function rank({ kind }: Manifest): number {
  const first = order.findIndex((one) => one === kind);
  if (first >= 0) return first;
  return last.test(kind) ? order.length + 1 : order.length;
}
