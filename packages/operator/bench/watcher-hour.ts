/**
 * Memory and processor time of a watcher of kube-proxy's rules while rollouts never end, as root:
 *
 *     unshare --net node packages/operator/bench/watcher-hour.ts [--minutes 10] [--services 50] [--mode nftables]
 *
 * Pods are withdrawn all the time, and the rules drop each of them a moment later. In ten minutes the watcher looks some 2,000 times. It does so
 * in an hour of rollouts every two minutes, too. The environment is the chart's; --env NAME=VALUE changes it. Ends with 1 where the memory is
 * above the bound.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { CoordinatorStandIn } from "../../watcher/test/coordinator.ts";
import { asIptablesSave, asNftList, type Service } from "../../watcher/test/rule-sets.ts";
import { chartEnvironment } from "./chart-environment.ts";
import { writeOperator } from "./operator-program.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    services: { type: "string", default: "50" },
    mode: { type: "string", default: "iptables" },
    env: { type: "string", multiple: true, default: [] },
    node: { type: "string", multiple: true, default: [] },
    program: { type: "string" },
  },
});
/** MB of resident memory. */
const bound = 90;
const size = Number(values.services);
const perService = 4;
/** Milliseconds between two withdrawals, and until the rules let go of a pod. */
const [every, lag] = [500, 300];
/** Milliseconds between two lines. */
const interval = 20_000;

const addressOf = (number: number): string =>
  `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
const services: { -readonly [Key in keyof Service]: string[] | boolean }[] & Service[] = [];
let issued = 0;
for (let index = 0; index < size; index++)
  services.push({
    endpoints: Array.from({ length: perService }, () => addressOf(++issued)),
    isStale: false,
    isSticky: false,
    isExternal: false,
  });

function write(): void {
  const [command, input] =
    values.mode === "nftables"
      ? [["nft", "-f", "-"], `table ip kube-proxy {\n}\ndelete table ip kube-proxy\n${asNftList(services)}`]
      : [["iptables-nft-restore"], asIptablesSave(services)];
  const [program = "", ...args] = command;
  execFileSync(program, args, { input, stdio: ["pipe", "ignore", "inherit"] });
}

function read({ pid }: ChildProcess) {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  const of = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1_000;
  const fields = (readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1] ?? "").split(" ").map(Number);
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15);
  return {
    resident: of("VmRSS"),
    anonymous: of("RssAnon"),
    // Ticks, with the programs that it has run.
    own: user + system,
    programs: childUser + childSystem,
  };
}

const directory = mkdtempSync(join(tmpdir(), "lameduck-bench-"));
const tokenFile = join(directory, "token");
writeFileSync(tokenFile, "token");
const program = values.program ?? (await writeOperator(directory));
execFileSync("ip", ["link", "set", "lo", "up"]);
write();
const coordinators = [await CoordinatorStandIn.start(), await CoordinatorStandIn.start()];
const child = spawn(
  process.execPath,
  [
    ...values.node,
    program,
    "watcher",
    ...coordinators.map(({ url }) => `--coordinator=${url.href}`),
    `--token-file=${tokenFile}`,
    "--consumer=kube-proxy",
    "--node=node1",
  ],
  {
    env: {
      PATH: process.env["PATH"],
      ...chartEnvironment("watcher"),
      NODE_ENV: "production",
      ...Object.fromEntries(values.env.map((one) => one.split(/=(.*)/s).slice(0, 2) as [string, string])),
    },
    stdio: ["ignore", "ignore", "ignore"],
  },
);
let most = 0;
try {
  while (coordinators.some(({ parked }) => parked === 0)) await delay(100);
  await delay(3_000);
  const began = performance.now();
  let before = { at: began, reading: read(child) };
  const idle = before.reading;
  process.stdout.write(
    `idle: ${idle.resident.toFixed(1)} MB, of it anonymous ${idle.anonymous.toFixed(1)}\n`,
  );
  const end = began + Number(values.minutes) * 60_000;
  for (let turn = 0, next = began; performance.now() < end; turn++) {
    const service = services[turn % size] as { endpoints: string[] } | undefined;
    const leaving = service?.endpoints.shift() ?? "";
    service?.endpoints.push(leaving);
    for (const coordinator of coordinators) coordinator.withdraw(leaving);
    await delay(lag);
    service?.endpoints.pop();
    service?.endpoints.push(addressOf(++issued));
    write();
    next += every;
    await delay(Math.max(0, next - performance.now()));
    for (const coordinator of coordinators)
      for (const { report } of coordinator.reports.splice(0))
        for (let number = report.applied; number > 0 && coordinator.gone(number); number--);
    const now = performance.now();
    if (now - before.at < interval) continue;
    const reading = read(child);
    most = Math.max(most, reading.resident);
    const share = (of: "own" | "programs"): string =>
      `${(((reading[of] - before.reading[of]) * 1_000) / (now - before.at)).toFixed(1)} %`;
    process.stdout.write(
      `${((now - began) / 60_000).toFixed(1).padStart(5)} min: ${reading.resident.toFixed(1)} MB, ` +
        `of it anonymous ${reading.anonymous.toFixed(1)}; ${share("own")} of a core, its programs ${share("programs")}; ${turn} pods\n`,
    );
    before = { at: now, reading };
  }
  process.stdout.write(`at most ${most.toFixed(1)} MB, bound ${bound}\n`);
  if (most > bound) process.exitCode = 1;
} finally {
  child.kill();
  await once(child, "exit");
  await Promise.all(coordinators.map((one) => one.stop()));
  rmSync(directory, { recursive: true });
}
