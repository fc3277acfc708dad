/**
 * Memory, processor time and calls of the watcher that finds load balancers of clouds, before stand-ins of AWS, the API server and two
 * replicas of the coordinator:
 *
 *     node packages/operator/bench/balancers.ts [--groups 200] [--minutes 3] [--every 5]
 *
 * Every Service has one target group with four pods. First nothing happens. Then a pod of one Service after the other terminates, one in
 * --every seconds, and its target drains two seconds later: no other Service's consumer hears of it. The environment is the chart's.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { ApiServer } from "../../kube/test/api-server.ts";
import { cloudApi, targetGroups, targetHealth } from "../../watcher/test/cloud-apis.ts";
import { CoordinatorStandIn } from "../../watcher/test/coordinator.ts";
import { bundledPackage } from "../image/built.ts";
import { cloudPackages } from "../image/image.ts";
import { chartEnvironment } from "./chart-environment.ts";
import { writeOperator } from "./operator-program.ts";

const { values } = parseArgs({
  options: {
    groups: { type: "string", default: "200" },
    minutes: { type: "string", default: "3" },
    every: { type: "string", default: "5" },
  },
});
const count = Number(values.groups);
const minutes = Number(values.minutes);
const perGroup = 4;
/** Until the controller has deregistered a target. */
const deregisteredMs = 2_000;

const arnOf = (group: number): string =>
  `arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/k8s-shop-web${group}/0123456789abcdef`;
const addressOf = (group: number, pod: number): string => `10.${group >> 8}.${group & 255}.${pod + 1}`;
const targets = Array.from({ length: count }, (_, group) =>
  Object.fromEntries(Array.from({ length: perGroup }, (__, pod) => [addressOf(group, pod), "healthy"])),
);

const directory = mkdtempSync(join(tmpdir(), "lameduck-bench-"));
const tokenFile = join(directory, "token");
writeFileSync(tokenFile, "token");
const program = await writeOperator(directory);
for (const name of cloudPackages) {
  const folder = join(directory, "node_modules", name);
  mkdirSync(folder, { recursive: true });
  for (const [file, content] of await bundledPackage(name, "watcher"))
    writeFileSync(join(folder, file), content);
}

await using aws = await cloudApi((_, body) => {
  const arn = decodeURIComponent(/arn[^&]*/.exec(body)?.[0] ?? "");
  const group = Number(/web(\d+)/.exec(arn)?.[1]);
  if (body.includes("Action=DescribeTargetGroups")) return { text: targetGroups(arn, "HTTPS") };
  return { text: targetHealth(targets[group] ?? {}) };
}, "text/xml");
await using kubernetes = await ApiServer.start();
for (let group = 0; group < count; group++) {
  const [name, uid] = [`k8s-shop-web${group}`, `uid-${group}`];
  kubernetes.put(
    name,
    {
      metadata: { name, uid, namespace: "shop" },
      spec: { targetGroupARN: arnOf(group), targetType: "ip", serviceRef: { name: `web${group}`, port: 80 } },
    },
    uid,
  );
}
const kubeconfig = join(directory, "kubeconfig");
writeFileSync(
  kubeconfig,
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    clusters: [{ name: "a", cluster: { server: kubernetes.url } }],
    users: [{ name: "a", user: {} }],
  }),
);
const coordinators = [await CoordinatorStandIn.start(), await CoordinatorStandIn.start()];
const child = spawn(
  process.execPath,
  [
    program,
    "watcher",
    ...coordinators.map(({ url }) => `--coordinator=${url.href}`),
    `--token-file=${tokenFile}`,
    `--kubeconfig=${kubeconfig}`,
    "--discover=aws",
  ],
  {
    env: {
      PATH: process.env["PATH"],
      ...chartEnvironment("balancers"),
      NODE_ENV: "production",
      AWS_ENDPOINT_URL: aws.url,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
    },
    stdio: ["ignore", "ignore", "inherit"],
  },
);

function read({ pid }: ChildProcess): { readonly resident: number; readonly ticks: number } {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const fields = (readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1] ?? "").split(" ").map(Number);
  const [user = 0, system = 0] = fields.slice(11, 13);
  return { resident: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_000, ticks: user + system };
}

/** Runs for so long, and says what it took. */
async function measured(what: string, run: (end: number) => Promise<string>): Promise<void> {
  for (const one of coordinators) one.reports = [];
  const [began, calls, before] = [performance.now(), aws.asked.length, read(child)];
  const said = await run(began + minutes * 60_000);
  const took = performance.now() - began;
  const { resident, ticks } = read(child);
  const perMinute = (many: number): string => ((many * 60_000) / took).toFixed(0);
  const reports = coordinators.reduce((sum, one) => sum + one.reports.length, 0);
  process.stdout.write(
    `${what}: ${resident.toFixed(1)} MB, ${(((ticks - before.ticks) * 1_000) / took).toFixed(1)} % of a core, ` +
      `${perMinute(aws.asked.length - calls)} calls and ${perMinute(reports)} reports a minute${said}\n`,
  );
}

try {
  while (coordinators.some(({ parked }) => parked < count)) await delay(100);
  while (aws.asked.length < 2 * count) await delay(100);
  await measured(`idle, ${count} groups`, async (end) => {
    await delay(end - performance.now());
    return "";
  });
  const lags: number[] = [];
  await measured("while pods terminate", async (end) => {
    for (let turn = 0, next = performance.now(); performance.now() < end; turn++) {
      const group = turn % count;
      const address = addressOf(group, 0);
      for (const one of coordinators) one.withdraw(address, `load-balancer/aws/shop/web${group}`);
      await delay(deregisteredMs);
      targets[group] = { ...targets[group], [address]: "draining" };
      const drains = performance.now();
      const name = encodeURIComponent(`aws/shop.web${group}`);
      const isLetGo = (): boolean =>
        coordinators.every((one) =>
          one.reports.some(
            ({ path, report }) =>
              path.endsWith(name) &&
              (report.applied > turn ||
                report.also?.some(([from, to]) => from <= turn + 1 && turn + 1 <= to)),
          ),
        );
      while (!isLetGo() && performance.now() < end) await delay(50);
      lags.push(performance.now() - drains);
      next += Number(values.every) * 1_000;
      await delay(Math.max(0, next - performance.now()));
      for (const one of coordinators) if (turn > 5) one.gone(turn - 5);
    }
    lags.sort((a, b) => a - b);
    const at = (share: number): string => ((lags[Math.floor(lags.length * share)] ?? NaN) / 1_000).toFixed(1);
    return `; let go ${at(0.5)} s (p90 ${at(0.9)} s) after it drains, ${lags.length} pods`;
  });
} finally {
  child.kill();
  await once(child, "exit");
  await Promise.all(coordinators.map((one) => one.stop()));
  rmSync(directory, { recursive: true });
}
