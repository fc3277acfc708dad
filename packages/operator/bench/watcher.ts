/**
 * `node packages/operator/bench/watcher.ts [SECONDS] [SERVICES]` as root: memory and processor time of a watcher of kube-proxy's rules, beside a Node that
 * does nothing: idle, and while pods terminate whose addresses stay in the rules. Four endpoints for each Service, in a network namespace of its own. Programs
 * that the watcher runs are counted with it.
 */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { chartEnvironment } from "./chart-environment.ts";
import { writeOperator } from "./operator-program.ts";
import { CoordinatorStandIn } from "../../watcher/test/coordinator.ts";
import { asIptablesSave, asNftList, type Service } from "../../watcher/test/rule-sets.ts";

const [seconds = "20", count = "5000"] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), "lameduck-bench-"));
const tokenFile = join(directory, "token");
writeFileSync(tokenFile, "token");
const program = await writeOperator(directory);

const services = (length: number): Service[] =>
  Array.from({ length }, (_, index) => ({
    endpoints: Array.from({ length: 4 }, (_, own) => {
      const number = index * 4 + own;
      return `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
    }),
    isStale: false,
    isSticky: false,
    isExternal: false,
  }));

interface Figures {
  /** MiB, at most. */
  readonly memory: number;
  /** Per cent of one core. */
  readonly processor: number;
}

/** Of a process and, for its time, of the programs that it has run. */
async function measured({ pid }: ChildProcess): Promise<Figures> {
  const during = Number(seconds);
  const ticks = (): number => {
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]?.split(" ") ?? [];
    return fields.slice(11, 15).reduce((sum, one) => sum + Number(one), 0);
  };
  const resident = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]) / 1_024;
  const before = ticks();
  const end = Date.now() + during * 1_000;
  let memory = 0;
  while (Date.now() < end) {
    memory = Math.max(memory, resident());
    await delay(100);
  }
  // A tick is a hundredth of a second.
  return { memory, processor: (ticks() - before) / during };
}

async function ended(child: ChildProcess): Promise<void> {
  child.kill();
  await once(child, "exit");
}

const print = (what: string, { memory, processor }: Figures, more = ""): void =>
  void process.stdout.write(
    `${what.padEnd(52)} ${memory.toFixed(0).padStart(5)} MiB ${processor.toFixed(2).padStart(7)} % ${more}\n`,
  );

const rules = {
  "iptables (nft)": ["iptables", ["iptables-nft-restore"], asIptablesSave],
  "iptables (legacy)": ["iptables", ["iptables-legacy-restore"], asIptablesSave],
  nftables: ["nftables", ["nft", "-f", "-"], asNftList],
} as const;

async function benchMode(name: keyof typeof rules, size: number): Promise<void> {
  const [mode, command, write] = rules[name];
  const node = `lameduck-b${process.pid}`;
  execFileSync("ip", ["netns", "add", node]);
  const coordinator = await CoordinatorStandIn.start();
  try {
    execFileSync("ip", ["netns", "exec", node, ...command], {
      input: write(services(size)),
      maxBuffer: 2 ** 28,
      stdio: ["pipe", "ignore", "ignore"],
    });
    // The process is outside, where the coordinator is; its programs are inside.
    for (const one of ["iptables-nft-save", "iptables-legacy-save", "nft"])
      writeFileSync(join(directory, one), `#!/bin/sh\nexec ip netns exec ${node} /usr/sbin/${one} "$@"\n`, {
        mode: 0o755,
      });
    const args = ["--coordinator", coordinator.url.href, "--token-file", tokenFile, "--log-level", "error"];
    const child = spawn(
      process.execPath,
      [program, "watcher", ...args, "--consumer", `kube-proxy=${mode}`, "--node", "node1"],
      {
        env: { ...process.env, ...chartEnvironment("watcher"), PATH: `${directory}:${process.env["PATH"]}` },
        stdio: ["ignore", "ignore", "inherit"],
      },
    );
    while (coordinator.parked === 0) await delay(100);
    if (size < 1_000) print(`${name}, ${size} Services, idle`, await measured(child));
    // Ten that stay, so that it never stops looking.
    for (let index = 0; index < 10; index++) coordinator.withdraw(`10.0.0.${index}`);
    const from = coordinator.reports.length;
    const figures = await measured(child);
    const posts = (coordinator.reports.length - from) / Number(seconds);
    print(`${name}, ${size} Services, 10 pods terminate`, figures, `${posts.toFixed(1)} reports/s`);
    const applied = coordinator.progress().applied;
    if (applied !== 0) throw new Error(`it took ${applied} for applied`);
    await ended(child);
  } finally {
    await coordinator.stop();
    execFileSync("ip", ["netns", "delete", node]);
  }
}

try {
  const idle = spawn(process.execPath, ["-e", "setInterval(() => {}, 1e9)"], {
    env: { ...process.env, ...chartEnvironment("watcher") },
  });
  await delay(1_000);
  print("a Node that does nothing", await measured(idle));
  await ended(idle);
  for (const name of Object.keys(rules) as (keyof typeof rules)[])
    for (const size of [50, Number(count)]) await benchMode(name, size);
} finally {
  rmSync(directory, { recursive: true });
}
