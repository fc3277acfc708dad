import { Command } from "commander";
import { consumerAccount, oldestKubernetes, injectLabel, operatorNames } from "@lameduck/protocol";
import { injectLabelValue } from "@lameduck/inject";
import { parseDuration } from "@lameduck/drain";
import { KubernetesError, requireVersion, type KubernetesClient } from "@lameduck/kube";
import { manifestYaml } from "@lameduck/manifests";
import { obtainConsent } from "../consent.ts";
import { badOption, CliError, cliErrors } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { ending } from "../help/ending.ts";
import { interruptible } from "../interrupt.ts";
import { say } from "../output.ts";
import { collect, mustBeImage, mustBeNamespace } from "../options.ts";
import { defaultImage, isPublished, version } from "../about.ts";
import { judgeWorkload, timesText, workloadGroups, type HeldWorkload } from "../cluster/held.ts";
import { readCluster, type ClusterRead } from "../cluster/reading.ts";
import { initVolumeFor } from "./init-volume.ts";
import { connect, type ConnectionFlags } from "../cluster/connection.ts";
import { differenceOf } from "./difference.ts";
import {
  extras,
  imageOf,
  installedNow,
  merged,
  mustBeExtra,
  nothingInstalled,
  type Asked,
  type Installed,
  type Merged,
} from "./kept.ts";
import { factsOf } from "../cluster/facts.ts";
import { peerOf } from "./metrics-from.ts";
import { mustBeIn, mustNotBeHelms } from "./place.ts";
import { restoreHeld } from "./uninstall.ts";
import { manifestsOf, type Manifest, type Mode } from "./manifest.ts";
import { mustBeNodeReader, usualNodeReader } from "./node-reader.ts";
import { nodeReaderLines, readerLines, readersFor, unseenLines } from "./readers.ts";
import { isForeign, label, labelledNamespaces, mustBeInjectable } from "./namespaces.ts";
import { applied, found, nameOf, pathOf, removed } from "./objects.ts";
import { admissionPolicies, isAdmissionPolicy, policiesThere } from "./policy.ts";
import { untilCarried, untilDeleted, untilReady } from "./ready.ts";
import { injectorsOf } from "./injector.ts";
import { untilInForce } from "./trial.ts";

interface Options extends ConnectionFlags {
  readonly image?: string;
  readonly policyOnly?: boolean;
  readonly heldDeletions?: boolean;
  readonly surge?: boolean;
  readonly acknowledgements?: boolean;
  readonly consumerAccount?: readonly string[];
  readonly metricsFrom?: readonly string[];
  readonly nodeReader?: string;
  readonly enable?: readonly string[];
  readonly disable?: readonly string[];
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly timeout: string;
}

/** `lameduck install`: what the Helm chart installs, without Helm. */
export function installCommand(exit: (code: number) => void): Command {
  return new Command("install")
    .description(
      "Install the webhook that injects Lameduck into new pods of labelled namespaces, or a policy that does the same.",
    )
    .option(
      "--policy-only",
      `install a MutatingAdmissionPolicy instead of the webhook; no process runs (Kubernetes 1.${oldestKubernetes.policy})`,
    )
    .option(
      "--held-deletions",
      "also install the webhook that delays deletions of pods older than this installation, in namespaces that ask for it (docs/operate/held-deletions.md)",
    )
    .option(
      "--surge",
      "also install the webhook that puts off the eviction of a workload's only pod until another is ready, for pods that ask for it (docs/operate/surge.md)",
    )
    .option(
      "--acknowledgements",
      "also install the coordinator, and a watcher on each node, so that pods stop when all senders have stopped sending (docs/operate/acknowledgements.md)",
    )
    .option(
      "--consumer-account <account>",
      "ServiceAccount that may report to the coordinator, such as that of watchers beside an ingress proxy, as NAMESPACE/NAME=KIND; without =KIND it reports as any kind; may be repeated (default: only that of the nodes' watchers)",
      collect,
    )
    .option(
      "--node-reader <reader>",
      "what the watcher of each node reads: kube-proxy, kube-proxy=MODE, or cilium[=SOCKET] (docs/operate/watchers.md; default: kube-proxy)",
    )
    .option(
      "--metrics-from <peer>",
      "CIDR or namespace that may read the metrics where NetworkPolicies are enforced, such as the API server's for `lameduck status`; may be repeated (default: nobody)",
      collect,
    )
    .option(
      "--disable <name>",
      `remove what an earlier installation has added, and keep everything else; one of ${extras.join(", ")}; may be repeated (default: none)`,
      collect,
    )
    .option(
      "--enable <namespace>",
      "label this namespace, so that its new pods are injected; may be repeated (default: none)",
      collect,
    )
    .option(
      "--image <reference>",
      "image of the operator, such as a copy in your registry (default: that of this release, once it is published)",
    )
    .option(
      "--timeout <time>",
      "wait this long for the operator to be ready, and as long again for the webhook or policy to take effect",
      "120s",
    )
    .option("--dry-run", "print the objects (YAML) on stdout and the changes on stderr, and change nothing")
    .option("-y, --yes", "do not ask")
    .addHelpText("after", examples)
    .action(async (options: Options) => exit(await install(options)));
}

async function install(options: Options): Promise<number> {
  const { lameduckNamespace: namespace, dryRun = false } = options;
  const milliseconds = parseDuration(options.timeout, "--timeout");
  const enabled = (options.enable ?? []).map((name) => mustBeNamespace("--enable", name));
  const asked: Asked = {
    mode: options.policyOnly ? "policy" : undefined,
    acknowledgements: options.acknowledgements ?? false,
    heldDeletions: options.heldDeletions ?? false,
    surge: options.surge ?? false,
    consumerAccounts: (options.consumerAccount ?? []).map(mustBeAccount),
    nodeReader: options.nodeReader === undefined ? undefined : mustBeNodeReader(options.nodeReader),
    metricsFrom: (options.metricsFrom ?? []).map((peer) => peerOf(peer)),
    image: options.image === undefined ? undefined : mustBeImage("--image", options.image),
    disabled: (options.disable ?? []).map(mustBeExtra),
  };
  mustFit(asked);
  const client = connected(options);
  if (client === undefined) {
    const { wanted } = merged(asked, nothingInstalled, version());
    mustBePullable(wanted, nothingInstalled, dryRun);
    printed(manifestsOf({ ...wanted, namespace }));
    return exitCodes.clean;
  }
  return interruptible(client, async (signal) => {
    await mustNotBeHelms(client);
    await mustBeIn(client, namespace);
    const there = await installedNow(client, namespace, signal);
    const looksAround = dryRun || asked.acknowledgements;
    const read = looksAround ? await readCluster(client, signal) : undefined;
    const image = imageOf(asked, there, version()) ?? defaultImage();
    // A later installation keeps what was chosen, unless it is asked anew.
    const readers = read && asked.acknowledgements ? readersFor(read, { namespace, image }) : [];
    const chosen = asked.disabled.includes("consumer-accounts")
      ? []
      : readers.flatMap(({ account, isUntried }) => (isUntried ? [] : [account]));
    const consumerAccounts = [...new Set([...asked.consumerAccounts, ...chosen])];
    const { wanted, kept } = merged({ ...asked, consumerAccounts }, there, version());
    const { mode, acknowledgements = false, heldDeletions = false, surge = false } = wanted;
    mustBePullable(wanted, there, dryRun);
    for (const note of await requireVersion(client, oldestKubernetes[mode], `lameduck install (${mode})`))
      say(`note: ${note}`);
    const objects = manifestsOf({ ...wanted, namespace });
    if (dryRun) printed(objects);
    await mustBeInjectable(client, enabled, namespace, signal);
    const { context, server } = client.connection;
    say(`context ${context}, ${server.origin}, namespace ${namespace}`);
    for (const line of kept) say(line);
    if (!asked.disabled.includes("consumer-accounts"))
      for (const line of readerLines(readers, there.consumerAccounts)) say(line);
    if (read && asked.acknowledgements) for (const line of unseenLines(read)) say(line);
    if (read && acknowledgements)
      for (const line of nodeReaderLines(read, wanted.nodeReader ?? usualNodeReader)) say(line);
    // Nothing runs that could bring the init volume to namespaces that were labelled before.
    const carried =
      mode === "policy" ? [...new Set([...(await labelledNamespaces(client, signal)), ...enabled])] : [];
    const facts = await factsOf(client, signal);
    // The manifest's own policies are rendered for an unknown cluster.
    const policies = mode === "policy" ? await admissionPolicies(client, namespace, signal) : [];
    const all = [
      ...objects.filter((one) => !isAdmissionPolicy(one)),
      ...carried.map((one) => initVolumeFor(one, facts.architectures)),
      ...policies,
    ];
    const superfluous = await superfluousTo(client, all, namespace, signal);
    if (dryRun) {
      const changes: string[] = [];
      for (const one of all) {
        const there = await found(client, one);
        if (there && isForeign(one, there)) say(foreignLine(one));
        else if (!there) changes.push(`would create ${nameOf(one)}`);
        else {
          const difference = await differenceOf(client, one, there, signal);
          if (difference !== undefined) changes.push(`would change ${nameOf(one)}: ${difference}`);
        }
      }
      for (const one of superfluous) changes.push(`would remove ${nameOf(one)}`);
      const labelled = await labelledNamespaces(client, signal);
      for (const name of enabled.filter((one) => !labelled.includes(one)))
        changes.push(`would label namespace ${name} ${injectLabel}=${injectLabelValue}`);
      for (const line of changes.length === 0 ? ["nothing would change"] : changes) say(line);
      if (read) {
        const judged = read.workloads
          .filter(({ namespace: own }) => labelled.includes(own) || enabled.includes(own))
          .map((one) => judgeWorkload(one, knownTo(mode, read), facts, namespace).held);
        for (const line of newPodLines(judged)) say(line);
      }
      return exitCodes.clean;
    }
    const { connection } = client;
    const namespaces = [namespace, ...enabled];
    await obtainConsent({ connection, namespaces, yes: options.yes ?? false, signal });
    await untilDeleted(client, namespace, milliseconds, signal);
    for (const one of all) {
      const there = await found(client, one);
      if (there && isForeign(one, there)) say(foreignLine(one));
      else say(`${nameOf(one)}: ${await applied(client, one, there, signal)}`);
    }
    const ready = (deployment: string): Promise<void> =>
      untilReady(client, namespace, milliseconds, signal, { deployment, say });
    if (mode === "webhook") await ready(operatorNames.workload);
    if (acknowledgements) await ready(operatorNames.coordinator.workload);
    for (const name of enabled) {
      const isThere = await label(client, name, signal);
      say(`Namespace ${name}: ${isThere ? "labelled" : "is gone"}`);
    }
    if (mode === "webhook")
      for (const name of await untilCarried(client, enabled, milliseconds, signal))
        say(`note: lameduck-init has not come to namespace ${name} yet; wait for it before you restart pods`);
    const labelled = await labelledNamespaces(client, signal);
    for (const injector of injectorsOf(all))
      await untilInForce(client, injector, { labelled, within: milliseconds, signal }, say);
    for (const one of superfluous) if (await removed(client, one, signal)) say(`${nameOf(one)}: removed`);
    if (!heldDeletions && !surge) await restoreHeld(client, signal);
    const restarted = enabled.length > 0 ? enabled : labelled.slice(0, 1);
    for (const line of restarted.length > 0 ? nextWith(restarted) : [nextWithout]) say(line);
    return exitCodes.clean;
  });
}

const nextWithout =
  "nothing is injected yet: lameduck install --enable NAMESPACE, or kubectl label namespace NAMESPACE lameduck.dev/inject=enabled";
const nextWith = (namespaces: readonly string[]): string[] => [
  "pods that run already are as they were, until their workloads are restarted; lameduck status tells which:",
  ...namespaces.map((namespace) => `  kubectl rollout restart deployment -n ${namespace}`),
];

const printed = (objects: readonly Manifest[]): void =>
  void process.stdout.write(objects.map((one) => manifestYaml(one)).join("---\n"));

/** @throws {CliError} LAMEDUCK_BAD_OPTION */
function mustFit(asked: Asked): void {
  const { mode, acknowledgements, heldDeletions, surge, metricsFrom, nodeReader, disabled } = asked;
  for (const [option, isWanted] of [
    ["--acknowledgements", acknowledgements],
    ["--held-deletions", heldDeletions],
    ["--surge", surge],
    ["--metrics-from", metricsFrom.length > 0],
    ["--node-reader", nodeReader !== undefined],
  ] as const) {
    if (isWanted && mode === "policy")
      throw badOption(option, "needs processes of ours; --policy-only has none");
    if (isWanted && disabled.some((one) => `--${one}` === option))
      throw badOption("--disable", `${option} asks for the same`);
  }
}

/**
 * Where an image is installed already, nodes have it. They may have one that is named, too.
 * @throws {CliError} LAMEDUCK_NO_IMAGE
 */
function mustBePullable({ mode, image }: Merged["wanted"], there: Installed, dryRun: boolean): void {
  const wanted = image ?? defaultImage();
  if (mode === "policy" || there.image?.reference === wanted || isPublished(wanted)) return;
  if (image !== undefined)
    return say(
      `note: ${image} names a registry that cannot exist (.example): each node must have it already`,
    );
  const problem = `${wanted} is not published yet: no node can pull it`;
  if (!dryRun) throw new CliError("LAMEDUCK_NO_IMAGE", "--image", problem);
  say(`note: ${problem}; ${cliErrors.LAMEDUCK_NO_IMAGE}`);
}

/** A policy in the API server does not see what leads to a pod. */
function knownTo(mode: Mode, read: ClusterRead): ClusterRead {
  const services = { name: "services", resource: "services", state: "refused" } as const;
  return mode === "policy" ? { ...read, unread: [...read.unread, services] } : read;
}

function* newPodLines(judged: readonly HeldWorkload[]): Generator<string> {
  const held = judged.filter(({ cap }) => cap !== undefined);
  if (held.length === 0) return;
  yield "what new pods of labelled namespaces get:";
  yield* workloadGroups(held, timesText);
}

const foreignLine = (one: Manifest): string =>
  `${nameOf(one)}: was there before Lameduck, and stays as it is`;

/** A dry run may be made where there is no cluster. */
function connected(options: Options): KubernetesClient | undefined {
  try {
    return connect(options);
  } catch (error) {
    const isMissing = error instanceof KubernetesError && error.code === "LAMEDUCK_NO_KUBECONFIG";
    if (!options.dryRun || !isMissing) throw error;
    say("note: no kubeconfig, so that nothing is known of a cluster");
    return undefined;
  }
}

/** What is there of another way of injecting: removed last, so that there is no gap between the two. */
async function superfluousTo(
  client: KubernetesClient,
  wanted: readonly Manifest[],
  namespace: string,
  signal: AbortSignal,
): Promise<Manifest[]> {
  const own = new Set(wanted.map(pathOf));
  const there = await policiesThere(client, signal);
  const everything = { acknowledgements: true, heldDeletions: true, surge: true };
  const others = manifestsOf({ mode: "webhook", namespace, ...everything }).filter(
    ({ kind, metadata }) => kind !== "Namespace" || metadata.name !== namespace,
  );
  for (const one of others.toReversed())
    if (!own.has(pathOf(one)) && (await found(client, one))) there.push(one);
  return there.filter((one) => !own.has(pathOf(one)));
}

/** As the chart's schema and the coordinator take it. @throws {CliError} */
function mustBeAccount(account: string): string {
  if (consumerAccount.test(account)) return account;
  throw badOption(
    "--consumer-account",
    `"${account}" is not of the form NAMESPACE/NAME or NAMESPACE/NAME=KIND`,
  );
}

const examples = ending(
  `
Examples:
  $ lameduck install --dry-run > lameduck.yaml
  $ lameduck install --enable shop --image registry.example/lameduck:${version()}
  $ kubectl rollout restart deployment -n shop      pods that already run are not changed
  $ lameduck status

It asks before it changes anything (--yes for scripts). What an earlier run has
added or chosen stays until --disable names it. With --acknowledgements it lets
the accounts of proxies report that it finds, and prints the patch by which a
watcher stands beside each. \`lameduck check\` says what it will find. \`lameduck uninstall\` removes everything.`,
  "0 done, 2 usage, 3 internal, 4 cluster or environment, 130 interrupted",
  "docs/operate/install.md",
);
