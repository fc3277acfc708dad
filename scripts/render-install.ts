/**
 * Writes the parts of the Helm chart that the code determines, and renders docs/install.yaml and its variants from it, for `kubectl apply` and `lameduck install`:
 *
 *     npm run render
 *
 * Helm is the one in PATH, or built from its Go module (minutes the first time). --check ends with 1 where the pages say something else.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { generated } from "../packages/operator/chart/generated.ts";
import { chartDigest, chartDirectory } from "../packages/operator/chart/digest.ts";
import { cacheDirectory } from "../e2e/cluster/host/paths.ts";
import { buildHelm, helmHere } from "../e2e/cluster/host/programs.ts";
import { commandLine } from "./command-line.ts";
import { writeMade } from "./format-page.ts";

const docs = join(import.meta.dirname, "..", "docs");
const say = (line: string): void => void process.stderr.write(`${line}\n`);
const { values } = commandLine(import.meta.url, { options: { check: { type: "boolean", default: false } } });

const pages = {
  "install.yaml": ["--set", "namespace.create=true"],
  "install-policy-only.yaml": ["--set", "policyOnly=true"],
  "install-acknowledgements.yaml": ["--set", "namespace.create=true,acknowledgements.enabled=true"],
  "install-held-deletions.yaml": ["--set", "namespace.create=true,heldDeletions.enabled=true"],
  "install-acknowledgements-held-deletions.yaml": [
    "--set",
    "namespace.create=true,acknowledgements.enabled=true,heldDeletions.enabled=true",
  ],
  "install-surge.yaml": ["--set", "surge.enabled=true", "--show-only", "templates/surge.yaml"],
  // With the chart's own switches: what the Prometheus operator reads of it.
  "monitoring/prometheus-operator.yaml": [
    "--set",
    "podMonitor.enabled=true,alerts.enabled=true,acknowledgements.enabled=true",
    "--show-only",
    "templates/monitoring.yaml",
  ],
} as const;

const helm = (await helmHere(cacheDirectory())) ?? (await buildHelm(cacheDirectory(), say));

function rendered(page: string, settings: readonly string[]): string {
  const command = ["template", "lameduck", chartDirectory, "--namespace", "lameduck-system"];
  const version = ["--kube-version", "1.36.0"];
  const apart = ["--set", "crds.keep=false"];
  const text = execFileSync(helm, [...command, ...version, ...apart, ...settings], { encoding: "utf8" });
  const documents = text
    .split(/^---\n/m)
    .map((one) => one.replace(/^#.*\n/gm, "").trim())
    .filter((one) => one !== "");
  const use = page.includes("surge")
    ? "What `lameduck install --surge` adds to docs/install.yaml, and --surge to the arguments of its webhook."
    : `kubectl apply --server-side -f ${basename(page)}`;
  const head = `# ${use}
# Rendered by scripts/render-install.ts from packages/operator/chart, chart ${chartDigest()}.`;
  return `${head}\n---\n${documents.join("\n---\n")}\n`;
}

if (!values.check)
  for (const [path, text] of generated()) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
for (const [page, settings] of Object.entries(pages)) {
  const text = rendered(page, settings);
  writeMade(join(docs, page), text, `docs/${page} is not what the chart renders to; npm run render`);
}
