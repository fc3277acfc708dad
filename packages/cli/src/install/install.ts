import { Command } from "commander";
import { consumerAccount, injectLabel, injectLabelValue, operatorNames } from "@lameduck/operator";
import { parseDuration } from "@lameduck/drain";
import { KubernetesError, requireVersion, type KubernetesClient } from "@lameduck/kube";
import { manifestYaml } from "@lameduck/manifests";
import { obtainConsent } from "../consent.ts";
import { badOption } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { ending } from "../help/ending.ts";
import { interruptible } from "../interrupt.ts";
import { say } from "../output.ts";
import { collect, mustBeNamespace } from "../options.ts";
import { carrierFor } from "./carrier.ts";
import { addConnectionOptions, connect, type ConnectionFlags } from "./connection.ts";
import { peerOf } from "./metrics-from.ts";
import { mustBeIn, mustNotBeHelms } from "./place.ts";
import { restoreHeld } from "./uninstall.ts";
import { manifestsOf, type Manifest, type Mode } from "./manifest.ts";
import { isForeign, label, labelledNamespaces, mustBeInjectable } from "./namespaces.ts";
import { applied, found, nameOf, pathOf, removed } from "./objects.ts";
import { admissionPolicies, isAdmissionPolicy, policiesThere } from "./policy.ts";
import { untilCarried, untilDeleted, untilReady } from "./ready.ts";
import { injectorsOf } from "./trial/injector.ts";
import { untilInForce } from "./trial/in-force.ts";

interface Options extends ConnectionFlags {
  readonly image?: string;
  readonly policyOnly?: boolean;
  readonly heldDeletions?: boolean;
  readonly acknowledgements?: boolean;
  readonly consumerAccount?: readonly string[];
  readonly metricsFrom?: readonly string[];
  readonly enable?: readonly string[];
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly timeout: string;
}

/** matchConditions of webhooks; MutatingAdmissionPolicy without a feature gate. */
const oldestMinor: Readonly<Record<Mode, number>> = { webhook: 30, policy: 36 };

/** `lameduck install`: what the Helm chart installs, without Helm. */
export function installCommand(exit: (code: number) => void): Command {
  const command = new Command("install").description(
    "Install the webhook that injects Lameduck into new pods of labelled namespaces, or a policy that does the same.",
  );
  return addConnectionOptions(command)
    .option(
      "--policy-only",
      "install a MutatingAdmissionPolicy instead of the webhook; no process runs (Kubernetes 1.36)",
    )
    .option(
      "--held-deletions",
      "also install the webhook that delays deletions of pods older than this installation, in namespaces that ask for it (docs/held-deletions.md)",
    )
    .option(
      "--acknowledgements",
      "also install the coordinator, and a watcher on each node, so that pods stop when no sender chooses them any more (docs/acknowledgements.md)",
    )
    .option(
      "--consumer-account <account>",
      "NAMESPACE/NAME=KIND of a ServiceAccount that may report to the coordinator as this kind, such as that of watchers beside an ingress proxy; without KIND as any; may be repeated (default: the watchers' of the nodes alone)",
      collect,
    )
    .option(
      "--metrics-from <peer>",
      "CIDR or namespace that may read the metrics where NetworkPolicies are enforced, such as the API server's for `lameduck status`; may be repeated (default: nobody)",
      collect,
    )
    .option(
      "--enable <namespace>",
      "label this namespace, so that its new pods are injected; may be repeated (default: none)",
      collect,
    )
    .option(
      "--image <reference>",
      "image of the operator, such as a copy in your registry (default: that of this release)",
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
  const { namespace, dryRun = false } = options;
  const milliseconds = parseDuration(options.timeout, "--timeout");
  const mode: Mode = options.policyOnly ? "policy" : "webhook";
  const enabled = (options.enable ?? []).map((name) => mustBeNamespace("--enable", name));
  const { acknowledgements = false, heldDeletions = false, image } = options;
  const consumerAccounts = (options.consumerAccount ?? []).map(mustBeAccount);
  const metricsFrom = (options.metricsFrom ?? []).map((peer) => peerOf(peer));
  if (consumerAccounts.length > 0 && !acknowledgements)
    throw badOption("--consumer-account", "needs --acknowledgements");
  for (const [option, isWanted] of [
    ["--acknowledgements", acknowledgements],
    ["--held-deletions", heldDeletions],
    ["--metrics-from", metricsFrom.length > 0],
  ] as const)
    if (isWanted && mode === "policy")
      throw badOption(option, "needs processes of ours; --policy-only has none");
  const objects = manifestsOf({
    mode,
    namespace,
    acknowledgements,
    consumerAccounts,
    metricsFrom,
    heldDeletions,
    image,
  });
  if (dryRun) process.stdout.write(objects.map((one) => manifestYaml(one)).join("---\n"));
  const client = connected(options);
  if (client === undefined) return exitCodes.clean;
  return interruptible(client, async (signal) => {
    for (const note of await requireVersion(client, oldestMinor[mode], `lameduck install (${mode})`))
      say(`note: ${note}`);
    await mustNotBeHelms(client);
    await mustBeIn(client, namespace);
    await mustBeInjectable(client, enabled, namespace, signal);
    const { context, server } = client.connection;
    say(`context ${context}, ${server.origin}, namespace ${namespace}`);
    // Nothing runs that could bring the carrier to namespaces that were labelled before.
    const carried =
      mode === "policy" ? [...new Set([...(await labelledNamespaces(client, signal)), ...enabled])] : [];
    // The manifest's own policies are rendered for an unknown cluster.
    const policies = mode === "policy" ? await admissionPolicies(client, namespace, signal) : [];
    const all = [
      ...objects.filter((one) => !isAdmissionPolicy(one)),
      ...carried.map(carrierFor),
      ...policies,
    ];
    const superfluous = await superfluousTo(client, all, namespace, signal);
    if (dryRun) {
      for (const one of all) {
        const there = await found(client, one);
        if (there && isForeign(one, there)) say(foreignLine(one));
        else say(`would ${there ? "update" : "create"} ${nameOf(one)}`);
      }
      for (const one of superfluous) say(`would remove ${nameOf(one)}`);
      for (const name of enabled) say(`would label namespace ${name} ${injectLabel}=${injectLabelValue}`);
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
    if (mode === "webhook") await untilReady(client, namespace, milliseconds, signal);
    if (acknowledgements)
      await untilReady(client, namespace, milliseconds, signal, operatorNames.coordinator.workload);
    for (const name of enabled) {
      const isThere = await label(client, name, injectLabelValue, signal);
      say(`Namespace ${name}: ${isThere ? "labelled" : "is gone"}`);
    }
    if (mode === "webhook")
      for (const name of await untilCarried(client, enabled, milliseconds, signal))
        say(`note: lameduck-init has not come to namespace ${name} yet; wait for it before you restart pods`);
    const labelled = await labelledNamespaces(client, signal);
    for (const injector of injectorsOf(all))
      await untilInForce(client, injector, { labelled, within: milliseconds, signal }, say);
    for (const one of superfluous) if (await removed(client, one, signal)) say(`${nameOf(one)}: removed`);
    if (!heldDeletions) await restoreHeld(client, signal);
    say(labelled.length > 0 ? nextWith(enabled[0] ?? labelled[0]!) : nextWithout);
    return exitCodes.clean;
  });
}

const nextWithout =
  "nothing is injected yet: lameduck install --enable NAMESPACE, or kubectl label namespace NAMESPACE lameduck.dev/inject=enabled";
const nextWith = (namespace: string): string =>
  `pods that run already are as they were: kubectl rollout restart deployment -n ${namespace}; lameduck status tells which`;

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
  const everything = { acknowledgements: true, heldDeletions: true };
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
  $ lameduck install --enable shop
  $ kubectl rollout restart deployment -n shop      pods that already run are not changed
  $ lameduck status

It asks before it changes anything (--yes for scripts). Running it again with
other options changes the installation. \`lameduck uninstall\` removes it.`,
  "0 done, 2 usage, 3 internal, 4 cluster or environment, 130 interrupted",
  "docs/install.md",
);
