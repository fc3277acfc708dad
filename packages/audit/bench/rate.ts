/**
 * How fast the audit reads and starts, beside the `yaml` library alone and beside kube-score where it is asked for:
 * `npm run bench -w packages/audit [-- --kube-score]`. 5,000 documents, 50 MB; each run in a process of its own, side by side in turn.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { kubeScoreAt } from "./kube-score.ts";

const documents = 5_000;
const bytes = 50_000_000;
const rounds = 3;
const [asked, given] = process.argv.slice(2);
const kubeScore = asked === "--kube-score" ? kubeScoreAt(given) : undefined;

const folder = mkdtempSync(join(tmpdir(), "lameduck-audit-bench-"));
const file = join(folder, "all.yaml");
writeFileSync(file, Array.from({ length: documents }, (_, index) => documentOf(index)).join("---\n"));

/** Two Deployments with a Service and five ConfigMaps in turn, as a rendered cluster has them; all of about the same size. */
function documentOf(index: number): string {
  const name = `app-${index - (index % 4)}`;
  const size = bytes / documents;
  const head = `metadata:\n  name: ${name}\n  namespace: n${index % 50}\n  labels: { app: ${name} }\n`;
  if (index % 4 === 0)
    return padded(
      `apiVersion: v1\nkind: Service\n${head}spec:\n  selector: { app: ${name} }\n  ports: [{ port: 80, targetPort: 8080 }]\n`,
      size,
    );
  const pod = `      containers:\n        - name: web\n          image: registry.example/web:${index}\n          ports: [{ containerPort: 8080 }]\n`;
  return padded(
    `apiVersion: apps/v1\nkind: Deployment\n${head}spec:\n  replicas: 3\n  selector: { matchLabels: { app: ${name} } }\n  template:\n    metadata:\n      labels: { app: ${name} }\n    spec:\n${pod}`,
    size,
    "          env:\n",
    (line) => `            - { name: VAR_${line}, value: "some text that stands for a setting ${line}" }\n`,
  );
}

/** Filled up with variables of containers, or with annotations. */
function padded(text: string, size: number, opening = "", line?: (number: number) => string): string {
  const parts = [text, opening];
  let length = text.length;
  for (let number = 0; length < size; number += 1) {
    const next = line?.(number) ?? `# ${"a comment that somebody wrote ".repeat(4)}${number}\n`;
    parts.push(next);
    length += next.length;
  }
  return parts.join("");
}

interface Measured {
  readonly seconds: number;
  readonly megabytes: number;
}

function measured(command: string, args: readonly string[]): Measured {
  const { stderr } = spawnSync("/usr/bin/env", ["time", "-f", "%e %M", command, ...args], {
    encoding: "utf8",
    maxBuffer: 2 ** 30,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [, seconds = "NaN", kilobytes = "NaN"] = /([\d.]+) (\d+)\s*$/.exec(stderr) ?? [];
  return { seconds: Number(seconds), megabytes: Number(kilobytes) / 1_024 };
}

const cli = fileURLToPath(new URL("../../cli/bin/lameduck.js", import.meta.url));
const parseOnly = `const { parseAllDocuments } = require(${JSON.stringify(fileURLToPath(import.meta.resolve("yaml")))});
const text = require("fs").readFileSync(${JSON.stringify(file)}, "utf8");
for (const chunk of text.split(/^---$/m)) for (const one of parseAllDocuments(chunk)) one.toJS();`;

const commands: Record<string, () => Measured> = {
  "yaml alone": () => measured(process.execPath, ["-e", parseOnly]),
  "lameduck audit": () =>
    measured(process.execPath, [cli, "audit", file, "--json", join(folder, "out.json")]),
  ...(kubeScore === undefined
    ? {}
    : { "kube-score": () => measured(kubeScore, ["score", "--output-format", "ci", file]) }),
};

const results = new Map<string, Measured[]>();
for (let round = 0; round < rounds; round += 1)
  for (const [name, run] of Object.entries(commands)) {
    const one = run();
    results.set(name, [...(results.get(name) ?? []), one]);
    process.stdout.write(`${name}: ${one.seconds.toFixed(1)} s, ${one.megabytes.toFixed(0)} MB at most\n`);
  }

const spread = (values: readonly number[]): string => {
  const sorted = [...values].sort((a, b) => a - b);
  return [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)]
    .map((value) => value?.toFixed(2))
    .join(" / ");
};
process.stdout.write(
  `\n${(statSync(file).size / 1e6).toFixed(0)} MB, ${documents} documents; min / median / max of ${rounds}\n`,
);
const base = results.get("yaml alone") ?? [];
for (const [name, all] of results) {
  const ratios = all.map(({ seconds }, index) => (base[index]?.seconds ?? NaN) / seconds);
  process.stdout.write(
    `${name}: rate ${spread(ratios)} of yaml alone; memory ${spread(all.map(({ megabytes }) => megabytes))} MB\n`,
  );
}

const small = join(folder, "small.yaml");
writeFileSync(small, documentOf(0).slice(0, 300));
const starts: Record<string, readonly string[]> = {
  "node -e 0": ["-e", "0"],
  "lameduck audit FILE": [cli, "audit", small],
};
const times = new Map<string, number[]>();
for (let round = 0; round < 15; round += 1)
  for (const [name, args] of Object.entries(starts)) {
    const began = performance.now();
    spawnSync(process.execPath, args, { stdio: "ignore" });
    times.set(name, [...(times.get(name) ?? []), performance.now() - began]);
  }
process.stdout.write("\nStart-up, ms; min / median / max of 15 in turn\n");
for (const [name, all] of times) process.stdout.write(`${name}: ${spread(all)}\n`);
rmSync(folder, { recursive: true });
