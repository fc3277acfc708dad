import {
  audit,
  factNames,
  fixesOf,
  rules,
  withHarmlessFixes,
  type Audit,
  type AuditOptions,
} from "@lameduck/audit";
import { Command, Option } from "commander";
import { badOption } from "../errors.ts";
import { exitCodes } from "../exit-codes.ts";
import { report } from "../failure.ts";
import { ending } from "../help/ending.ts";
import { writeOutput } from "../output.ts";
import { baselineText, readBaseline } from "./baseline.ts";
import { configFrom, factsFrom, imagesFrom, isShown, minorFrom, rulesFrom, type Options } from "./options.ts";
import { collect, contextOption, kubeconfigOption, mustBeNamespace } from "../options.ts";
import { diffOf, writeFixes } from "./fix.ts";
import { readInput } from "./input.ts";
import { formatNames, mustShowProofs, outputsFrom, publishAudit } from "./formats.ts";

const examples = ending(
  `
Examples:
  lameduck audit deploy/                           all manifests of a folder
  helm template shop ./chart | lameduck audit -    the output of a chart
  lameduck audit -n shop                           a namespace of your cluster
  lameduck audit web.yaml --assume drain=20s       answer an unknown
  lameduck audit web.yaml --fix                    show fixes (--fix --write writes them)
  lameduck audit web.yaml --prove                  roll it on this machine under load
  lameduck audit deploy/ --format text --format sarif=audit.sarif

\`lameduck audit --rules\` lists the rules.`,
  "0 no findings, 1 errors or warnings, 2 usage, or something could not be read, 3 internal, 4 cluster or environment, 5 only unknowns are left, or there was no workload",
  "docs/audit.md",
);

/** `lameduck audit`: which workloads will lose requests when their pods stop, before they are deployed. */
export function auditCommand(exit: (code: number) => number): Command {
  return new Command("audit")
    .description(
      "Find workloads that will lose requests when their pods stop, with the arithmetic and fixes. It reads manifests and runs nothing.",
    )
    .argument("[paths...]", "files and folders of manifests; - is stdin")
    .optionsGroup("A cluster instead of files (it is only read):")
    .option("--cluster", "read the objects of a live cluster; without files the options below imply it")
    .option("-n, --namespace <name>", "only this namespace (default: the context's)")
    .option("-A, --all-namespaces", "all namespaces")
    .option(...contextOption)
    .option(...kubeconfigOption)
    .optionsGroup("Facts that manifests do not contain:")
    .option(
      "--assume <name=duration>",
      `a time that manifests do not contain: ${Object.keys(factNames).join(", ")}; may be repeated; the annotation lameduck.dev/NAME sets it for one workload`,
      collect,
    )
    .option(
      "--kubernetes <version>",
      "version of the cluster, such as 1.34: decides which fields fixes may use",
    )
    .option(
      "--dockerfile <[image=]file>",
      "Dockerfile of an image, for its entry point and stop signal; may be repeated",
      collect,
    )
    .option(
      "--image-config <[image=]file>",
      "configuration of an image, as `crane config` or `docker inspect` print it; may be repeated",
      collect,
    )
    .optionsGroup("The report:")
    .option("--format <format[=file]>", `${formatNames.join(", ")} (default: text); may be repeated`, collect)
    .addOption(
      new Option("--min-severity <severity>", "leave out less severe findings; unknowns are always shown")
        .choices(["error", "warning", "note"])
        .default("note"),
    )
    .option(
      "--config <file>",
      "configuration file (default: .lameduck-audit.yaml in the working folder, if it exists)",
    )
    .option("--baseline <file>", "leave out findings that are in this file")
    .option("--write-baseline", "write all findings into the file of --baseline")
    .option("--allow-unknown", "exit with 0 even if unknowns are left, or nothing could be judged")
    .option("--rule <name>", "check only this rule; may be repeated", collect)
    .option("--rules", "list the rules, and do nothing else")
    .optionsGroup("Fixes:")
    .option("--fix", "show the smallest edits that fix findings, as a diff")
    .option("--write", "with --fix: write the edits into the files")
    .optionsGroup("Proof (runs the programs of the manifests, in namespaces of their own):")
    .option(
      "--prove",
      "roll each workload in the lab, once as it is and once with the fixes, and show the lost requests",
    )
    .addHelpText("after", examples)
    .action(async (paths: string[], options: Omit<Options, keyof typeof notGiven>) => {
      if (options.rules)
        process.stdout.write(rules.map(({ id, title }) => `${id.padEnd(widest)}  ${title}\n`).join(""));
      else exit(await run(paths, { ...notGiven, ...options }));
    });
}

async function run(paths: readonly string[], given: Options): Promise<number> {
  const options = { ...given, cluster: given.cluster ?? meansCluster(paths, given) };
  mustFit(paths, options);
  const outputs = outputsFrom(options.format);
  if (options.prove) mustShowProofs(outputs);
  // Loaded on demand: most audits need neither a lab nor a cluster.
  const lab = options.prove ? await import("./prove/enter.ts") : undefined;
  const elsewhere = await lab?.enterLab();
  if (elsewhere !== undefined) return elsewhere;
  const config = configFrom(options.config);
  const { files, failures, version, notRead } = options.cluster
    ? await (await import("./cluster.ts")).readCluster(options)
    : { ...(await readInput(paths, "audit", config.exclude)), version: undefined, notRead: undefined };
  const settings: AuditOptions = {
    images: imagesFrom(options),
    facts: { ...config.assume, ...factsFrom(options.assume) },
    kubernetes: minorFrom(options.kubernetes ?? config.kubernetes ?? version),
    notRead,
    known: new WeakMap(),
    rules: rulesFrom(options.rule),
    severities: config.severities,
    suppressions: {
      ignored: config.ignored,
      baseline: options.writeBaseline ? new Set() : readBaseline(options.baseline),
    },
  };
  const whole = audit(files, settings);
  const shown = {
    ...whole,
    findings: whole.findings.filter(({ severity }) => isShown(severity, options.minSeverity)),
    failures: [...failures, ...whole.failures],
  };
  for (const failure of shown.failures) report(failure);
  if (options.writeBaseline) {
    writeOutput("--baseline", options.baseline, () => baselineText(whole));
    return shown.failures.length > 0 ? exitCodes.usage : exitCodes.clean;
  }
  if (options.fix) return fix(shown, settings, options);
  const { proofs, interrupted } = (await lab?.proofsOf(shown, settings)) ?? {};
  publishAudit(withHarmlessFixes(shown, settings), outputs, proofs);
  return interrupted ?? exitCodeOf(shown, options);
}

async function fix(shown: Audit, settings: AuditOptions, { write, allowUnknown }: Options): Promise<number> {
  const plan = fixesOf(shown, settings);
  const fromStdin = plan.files.some(({ before }) => before.name === "stdin");
  if (write) writeFixes(plan);
  if (!write || !fromStdin) process.stdout.write(await diffOf(plan));
  const left = plan.audit.findings.length;
  const verb = write ? "fixed" : "can be fixed";
  process.stderr.write(
    `${plan.applied.length} ${verb}, ${left} left${write || plan.applied.length === 0 ? "" : "; --fix --write writes it"}\n`,
  );
  return exitCodeOf(write ? { ...plan.audit, failures: shown.failures } : shown, { allowUnknown });
}

/** As in kubectl, a namespace without a file means what runs there. */
function meansCluster(paths: readonly string[], options: Options): boolean {
  const { namespace, allNamespaces, context, kubeconfig } = options;
  return (
    paths.length === 0 && [namespace, allNamespaces, context, kubeconfig].some((one) => one !== undefined)
  );
}

function mustFit(paths: readonly string[], options: Options): void {
  const { write, fix: wantsFix, prove, writeBaseline, baseline, cluster, namespace, allNamespaces } = options;
  if (cluster && paths.length > 0)
    throw badOption("--cluster", "reads the cluster instead of files; leave one of them out");
  if (!cluster && paths.length === 0)
    throw badOption("lameduck audit", "name files or folders of manifests, - for stdin, or --cluster");
  if (!cluster && (namespace !== undefined || allNamespaces))
    throw badOption(allNamespaces ? "--all-namespaces" : "--namespace", "goes with --cluster");
  if (namespace !== undefined && allNamespaces) throw badOption("--all-namespaces", "leave --namespace out");
  if (namespace !== undefined) mustBeNamespace("--namespace", namespace);
  if (cluster && wantsFix)
    throw badOption("--fix", "changes files; audit the manifests that the cluster was made from");
  if (prove && cluster)
    throw badOption("--prove", "rolls manifests; audit those that the cluster was made from");
  if (prove && (wantsFix || writeBaseline))
    throw badOption("--prove", "goes without --fix and --write-baseline");
  if (wantsFix && options.format.length > 0)
    throw badOption("--fix", "prints a diff; leave --format out, or audit again after it");
  if (write && !wantsFix) throw badOption("--write", "goes with --fix");
  if (writeBaseline && baseline === undefined) throw badOption("--write-baseline", "needs --baseline FILE");
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

const widest = Math.max(...rules.map(({ id }) => id.length));

/** Options that may stand several times. */
const notGiven = { assume: [], dockerfile: [], format: [], imageConfig: [], rule: [] };
