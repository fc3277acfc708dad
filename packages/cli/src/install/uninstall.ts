import { count } from "@lameduck/accounting/words";
import { Command } from "commander";
import { initVolumeSumAnnotation, restoreAll } from "@lameduck/webhook";
import { injectedAnnotation, operatorNames } from "@lameduck/protocol";
import type { KubernetesClient, KubernetesObject, Pod } from "@lameduck/kube";
import { obtainConsent } from "../consent.ts";
import { exitCodes } from "../exit-codes.ts";
import { ending } from "../help/ending.ts";
import { interruptible } from "../interrupt.ts";
import { say } from "../output.ts";
import { initVolumeIn } from "./init-volume.ts";
import { connect, type ConnectionFlags } from "../cluster/connection.ts";
import { manifestsOf, type Manifest } from "./manifest.ts";
import { isForeign, namespacesWithLabels, unlabel } from "./namespaces.ts";
import { mustBeIn, mustNotBeHelms } from "./place.ts";
import { isAdmissionPolicy, policiesThere } from "./policy.ts";
import { found, nameOf, pathOf, removed, inBatches } from "./objects.ts";

interface Options extends ConnectionFlags {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

interface InitVolume {
  readonly object: Manifest;
  /** Pods that have lameduck-init from it. */
  readonly users: number;
}

/** `lameduck uninstall`: nothing is left, but for what running pods still use. */
export function uninstallCommand(exit: (code: number) => void): Command {
  return new Command("uninstall")
    .description(
      "Remove Lameduck from a cluster. Pods that were injected keep their hook until they are replaced.",
    )
    .option("--dry-run", "print what would be removed, and change nothing")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", examples)
    .action(async (options: Options) => exit(await uninstall(options)));
}

async function uninstall(options: Options): Promise<number> {
  const { lameduckNamespace: namespace, dryRun = false } = options;
  const client = connect(options);
  return interruptible(client, async (signal) => {
    await mustNotBeHelms(client);
    await mustBeIn(client, namespace);
    const { connection } = client;
    say(`context ${connection.context}, ${connection.server.origin}, namespace ${namespace}`);
    const objects = await installed(client, namespace, signal);
    const labelled = await namespacesWithLabels(client, signal);
    if (dryRun) {
      for (const one of objects) say(`would remove ${nameOf(one)}`);
      for (const name of labelled) say(`would take the labels from namespace ${name}`);
    } else {
      await obtainConsent({ connection, namespaces: [namespace], yes: options.yes ?? false, signal });
      for (const one of objects) await remove(client, one, signal);
      await restoreHeld(client, signal);
      for (const name of labelled)
        if (await unlabel(client, name, signal)) say(`Namespace ${name}: labels taken away`);
    }
    // Read last: until now a new pod could be injected, and mount one.
    for (const { object, users } of await initVolumesOf(client, signal))
      if (users > 0) say(keptLine(object, users));
      else if (dryRun) say(`would remove ${nameOf(object)}`);
      else await remove(client, object, signal);
    return exitCodes.clean;
  });
}

async function remove(client: KubernetesClient, object: Manifest, signal: AbortSignal): Promise<void> {
  if (await removed(client, object, signal)) say(`${nameOf(object)}: removed`);
}

/** The kubelet empties the volume of a running pod when an optional ConfigMap goes, and its hook would fail at once. */
const keptLine = ({ metadata }: Manifest, users: number): string =>
  `ConfigMap ${metadata.namespace}/${metadata.name}: kept for ${count(users, "running pod")}, whose preStop hook is in it; \
kubectl rollout restart deployment -n ${metadata.namespace}, then lameduck uninstall again`;

/** What is there of either mode, what sends pods to us first. A namespace of ours goes with all that is in it. */
async function installed(
  client: KubernetesClient,
  namespace: string,
  signal: AbortSignal,
): Promise<Manifest[]> {
  const both = (["webhook", "policy"] as const).flatMap((mode) =>
    manifestsOf({ mode, namespace, acknowledgements: true, heldDeletions: true, surge: true }),
  );
  const others = both.filter((one) => !isAdmissionPolicy(one));
  const distinct = [...new Map(others.map((one) => [pathOf(one), one])).values()];
  const there: Manifest[] = [];
  for (const one of [...madeByOperator(namespace), ...distinct]) {
    const object = await found(client, one);
    if (object && !isForeign(one, object)) there.push(one);
  }
  there.push(...(await policiesThere(client, signal)).toReversed());
  return there.toReversed().sort((a, b) => rank(a) - rank(b));
}

function rank({ kind }: Manifest): number {
  return /^(Mutating|Validating)/.test(kind) ? 0 : kind === "Namespace" ? 2 : 1;
}

/** What the operator makes by itself, and makes again until it has lost its rights. */
const madeByOperator = (namespace: string): Manifest[] => [
  {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: operatorNames.certificateSecret, namespace },
  },
  {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: operatorNames.lease, namespace },
  },
  {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: operatorNames.coordinator.lease, namespace },
  },
];

function configMapsNamed(
  client: KubernetesClient,
  name: string,
  signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  const selector = encodeURIComponent(`metadata.name=${name}`);
  return client.list<KubernetesObject>(`/api/v1/configmaps?fieldSelector=${selector}`, signal);
}

async function initVolumesOf(client: KubernetesClient, signal: AbortSignal): Promise<InitVolume[]> {
  const maps = await configMapsNamed(client, operatorNames.initConfigMap, signal);
  // A ConfigMap without our checksum belongs to somebody else.
  const ours = maps.filter(({ metadata }) => metadata.annotations?.[initVolumeSumAnnotation] !== undefined);
  return inBatches(ours, async ({ metadata: { namespace = "" } }) => ({
    object: initVolumeIn(namespace),
    users: (await client.list<Pod>(`/api/v1/namespaces/${namespace}/pods`, signal)).filter(isUser).length,
  }));
}

const isUser = ({ metadata, status }: Pod): boolean =>
  metadata.annotations?.[injectedAnnotation] !== undefined &&
  status?.phase !== "Succeeded" &&
  status?.phase !== "Failed";

/**
 * Pods whose deletion was held, and that nobody will delete or restore any more, are as they were before. Only called once the webhook that
 * holds them is gone.
 */
export async function restoreHeld(client: KubernetesClient, signal: AbortSignal): Promise<void> {
  await restoreAll(client, signal, (pod) =>
    say(`Pod ${pod}: has its labels back; its deletion was being held`),
  );
}

const examples = ending(
  `
Examples:
  $ lameduck uninstall --dry-run
  $ lameduck uninstall

ConfigMaps that running pods mount are kept, and their workloads are printed.
Restart these, and uninstall again.`,
  "0 done, 2 usage, 3 internal, 4 cluster or environment, 130 interrupted",
  "docs/operate/upgrade.md#uninstall",
);
