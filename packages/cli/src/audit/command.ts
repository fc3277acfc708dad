import {
  audit,
  factNames,
  fixesOf,
  imagesOf,
  withHarmlessFixes,
  type Audit,
  type ImageFile,
  type AuditOptions,
  type InputFile,
} from "@lameduck/audit";
import { Command, Option } from "commander";
import { badOption } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { report } from "../failure.ts";
import { ending } from "../help/ending.ts";
import { interruptible } from "../interrupt.ts";
import { writeOutput } from "../output.ts";
import { baselineText, readBaseline } from "./baseline.ts";
import {
  configFrom,
  factsFrom,
  imagesGiven,
  isShown,
  minorFrom,
  rulesFrom,
  usualConfig,
  type Options,
} from "./options.ts";
import { collect, mustBeNamespace } from "../options.ts";
import { diffOf, writeFixes } from "./fix.ts";
import { readInput } from "./input.ts";
import type { configOutside, proofsOf } from "./prove/enter.ts";
import { asksForFiles, checkAuditOutputs, mustShowProofs, publishAudit } from "./formats.ts";

const examples = ending(
  `
Examples:
  lameduck audit deploy/                           all manifests of a folder (without it, of this one)
  helm template shop ./chart | lameduck audit -    the output of a chart
  lameduck audit -n shop                           a namespace of your cluster
  lameduck audit web.yaml --assume drain=20s       answer an unknown
  lameduck audit web.yaml --fix                    show fixes (--fix --write writes them)
  lameduck audit web.yaml --prove                  roll it on this machine under load
  lameduck audit deploy/ --out audit.sarif

\`lameduck help rules\` lists the rules; \`lameduck help no-lame-duck\` explains one.`,
  "0 no findings, 1 errors or warnings, 2 usage, or something could not be read, 3 internal, 4 cluster or environment, 5 only unknowns are left, or there was no workload",
  "docs/tools/audit.md",
);

/** `lameduck audit`: which workloads will lose requests when their pods stop, before they are deployed. */
export function auditCommand(exit: (code: number) => number): Command {
  return new Command("audit")
    .description(
      "Find workloads that will lose requests when their pods stop, with the arithmetic and fixes. It reads manifests and runs none of their programs.",
    )
    .argument("[paths...]", "files and folders of manifests; - is stdin (default: the working folder)")
    .optionsGroup("A cluster instead of files (it is only read):")
    .option(
      "-A, --all-namespaces",
      "audit the workloads of all namespaces; -n those of one, --context or --kubeconfig alone those of the context's",
    )
    .optionsGroup("Facts that manifests do not contain:")
    .option(
      "--assume <name=duration>",
      `a time that manifests do not contain: ${Object.keys(factNames).join(", ")}; may be repeated; the annotation lameduck.dev/NAME sets it for one workload`,
      collect,
    )
    .option(
      "--image <[name=]source>",
      "an image of the manifests: an OCI or docker archive, a layout, its Dockerfile, or what `crane config` or `docker inspect` print of it (default: what docker, podman and nerdctl of this machine have); may be repeated",
      collect,
    )
    .optionsGroup("The report:")
    .addOption(
      new Option("--min-severity <severity>", "leave out less severe findings; unknowns are always shown")
        .choices(["error", "warning", "note"])
        .default("note"),
    )
    .option(
      "--config <file>",
      "configuration file (default: .lameduck-audit.yaml in the working folder, if it exists)",
    )
    .option("--baseline <file>", "leave out findings that are in this file; with --write, write all into it")
    .option("--allow-unknown", "exit with 0 even if unknowns are left, or nothing could be judged")
    .option("--rule <name>", "check only this rule; may be repeated", collect)
    .optionsGroup("Fixes:")
    .option("--fix", "show the smallest edits that fix findings, as a diff")
    .option("--write", "with --fix: write the edits into the files; with --baseline: write that file")
    .optionsGroup("Proof (runs the programs of the manifests, in namespaces of their own):")
    .option(
      "--prove",
      "roll each workload in the lab, once as it is and once with the fixes, and show the lost requests",
    )
    .addHelpText("after", examples)
    .action(async (paths: string[], options: Omit<Options, keyof typeof notGiven>) => {
      exit(await run(paths, { ...notGiven, ...options }));
    });
}

async function run(named: readonly string[], given: Options): Promise<number> {
  const cluster = meansCluster(given);
  const { sources, texts } = imagesGiven(given.image);
  const options = { ...given, cluster, image: sources, texts };
  const paths = named.length === 0 && !cluster ? ["."] : named;
  mustFit(paths, options);
  checkAuditOutputs(options);
  if (options.prove) mustShowProofs(options);
  // Loaded on demand: most audits need neither a lab nor a cluster.
  const lab = options.prove ? await import("./prove/enter.ts") : undefined;
  const elsewhere = await lab?.enterLab(options.image);
  if (elsewhere !== undefined) return elsewhere;
  // The first process of a namespace is not ended by a signal that it does not listen to.
  return lab
    ? interruptible({ close: () => undefined }, (signal) => runHere(paths, options, { lab, signal }))
    : runHere(paths, options);
}

/** As they are meant. */
interface Asked extends Options {
  readonly cluster: boolean;
  /** What is written about images. */
  readonly texts: readonly ImageFile[];
}

interface InLab {
  readonly lab: { readonly proofsOf: typeof proofsOf; readonly configOutside: typeof configOutside };
  readonly signal: AbortSignal;
}

async function runHere(paths: readonly string[], options: Asked, inLab?: InLab): Promise<number> {
  const config = configFrom(options.config);
  const { files, failures, version, notRead } = options.cluster
    ? await (await import("./cluster.ts")).readCluster(options)
    : { ...(await readInput(paths, "audit", config.exclude)), version: undefined, notRead: undefined };
  inLab?.signal.throwIfAborted();
  const settings: AuditOptions = {
    images: imagesOf(options.texts),
    facts: { ...config.assume, ...factsFrom(options.assume) },
    kubernetes:
      minorFrom(config.kubernetes, `kubernetes: of ${options.config ?? usualConfig}`) ??
      minorFrom(version, "the cluster's version"),
    notRead,
    known: new WeakMap(),
    rules: rulesFrom(options.rule),
    severities: config.severities,
    suppressions: {
      ignored: config.ignored,
      baseline: writesBaseline(options) ? new Set() : readBaseline(options.baseline),
    },
  };
  const whole = await auditWithImages(files, settings, options, inLab);
  const shown = {
    ...whole,
    findings: whole.findings.filter(({ severity }) => isShown(severity, options.minSeverity)),
    failures: [...failures, ...whole.failures],
  };
  for (const failure of shown.failures) report(failure);
  if (writesBaseline(options)) {
    writeOutput("--baseline", options.baseline, () => baselineText(whole));
    return shown.failures.length > 0 ? exitCodes.usage : exitCodes.clean;
  }
  if (options.fix) return fix(shown, settings, options);
  const { proofs, interrupted } = (await inLab?.lab.proofsOf(shown, settings)) ?? {};
  publishAudit(withHarmlessFixes(shown, settings), options, proofs);
  return interrupted ?? exitCodeOf(shown, options);
}

/** What images say of themselves is asked only where it is not known, and only of this machine. */
async function auditWithImages(
  files: readonly InputFile[],
  settings: AuditOptions,
  options: Asked,
  inLab: InLab | undefined,
): Promise<Audit> {
  const whole = audit(files, settings);
  const asked = imagesToAsk(whole);
  if (asked.length === 0) return whole;
  const { configsOf } = await import("../images/configs.ts");
  const found = await configsOf(asked, options.image, inLab?.signal, inLab?.lab.configOutside);
  if (found.length === 0) return whole;
  return audit(
    files,
    Object.assign(settings, { images: imagesOf([...options.texts, ...found]), known: new WeakMap() }),
  );
}

/** Of no interest are images for which something was given, whatever it says. */
function imagesToAsk({ inventory }: Audit): string[] {
  const containers = inventory.workloads.flatMap((one) => [...one.containers, ...one.sidecars]);
  const unknown = containers.filter(({ imageFacts }) => imageFacts === undefined || imageFacts.isBaseUnknown);
  return [...new Set(unknown.flatMap(({ image }) => image ?? []))];
}

async function fix(
  shown: Audit,
  settings: AuditOptions,
  { write, allowUnknown, minSeverity }: Options,
): Promise<number> {
  const plan = fixesOf(shown, settings);
  const fromStdin = plan.files.some(({ before }) => before.name === "stdin");
  if (write) writeFixes(plan);
  if (!write || !fromStdin) process.stdout.write(await diffOf(plan));
  // The plan audits the edited files anew, and knows nothing of what is left out.
  const findings = plan.audit.findings.filter(({ severity }) => isShown(severity, minSeverity));
  const left = findings.length;
  const verb = write ? "fixed" : "can be fixed";
  process.stderr.write(
    `${plan.applied.length} ${verb}, ${left} left${write || plan.applied.length === 0 ? "" : "; --fix --write writes it"}\n`,
  );
  return exitCodeOf(write ? { ...plan.audit, findings, failures: shown.failures } : shown, { allowUnknown });
}

/** As in kubectl, a namespace without a file means what runs there. */
function meansCluster({ namespace, allNamespaces, context, kubeconfig, as }: Options): boolean {
  return [namespace, allNamespaces, context, kubeconfig, as].some((one) => one !== undefined);
}

const writesBaseline = ({ write, fix: fixes, baseline }: Options): boolean =>
  write === true && fixes !== true && baseline !== undefined;

function mustFit(paths: readonly string[], options: Asked): void {
  const { write, fix: wantsFix, prove, cluster, namespace, allNamespaces } = options;
  if (cluster && paths.length > 0)
    throw badOption(
      "lameduck audit",
      "reads a cluster instead of files; name no files, or no namespace and context",
    );
  if (namespace !== undefined && allNamespaces) throw badOption("--all-namespaces", "leave --namespace out");
  if (namespace !== undefined) mustBeNamespace("--namespace", namespace);
  if (cluster && wantsFix)
    throw badOption("--fix", "changes files; audit the manifests that the cluster was made from");
  if (prove && cluster)
    throw badOption("--prove", "rolls manifests; audit those that the cluster was made from");
  if (prove && (wantsFix || write)) throw badOption("--prove", "goes without --fix and --write");
  if (wantsFix && asksForFiles(options))
    throw badOption("--fix", "prints a diff; leave --json and --out away, or audit again after it");
  if (write && !wantsFix && !writesBaseline(options))
    throw badOption("--write", "goes with --fix or --baseline");
}

/** A finding says more than a file that could not be read, and that more than an open question. */
function exitCodeOf(
  { findings, failures, inventory }: Audit,
  { allowUnknown }: Pick<Options, "allowUnknown">,
): number {
  if (findings.some(({ severity }) => severity === "error" || severity === "warning"))
    return exitCodes.losses;
  if (failures.length > 0) return exitCodes.usage;
  const isOpen = inventory.workloads.length === 0 || findings.some(({ severity }) => severity === "unknown");
  return isOpen && !allowUnknown ? exitCodes.untested : exitCodes.clean;
}

/** Options that may stand several times. */
const notGiven = { assume: [], image: [], rule: [] };
