/**
 * What a hold costs in processor time, beside a hold of the same length by `fixed`, which weighs nothing: of the library with its server, and of the
 * init alone. New connections at an even rate, from 4 or 1,000 addresses of loopback, before SIGTERM and through the whole hold, in
 * a network namespace of its own.
 *
 *     node packages/init/bench/hold-cost.ts [rate]
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { get } from "node:http";
import { fileURLToPath } from "node:url";
import { setTimeout as pause } from "node:timers/promises";
import { initBinary } from "../toolchain/index.ts";

const port = 18_080;
const before = 5_000;
const hold = 10_000;
const rate = Number(process.argv[2] ?? 120);
const server = `require("http").createServer((q, r) => r.end("ok\\n")).listen(${port}, () => console.log("listening"))`;

/** Never below the budget: the cap ends it, and the rule is asked until then. */
const policies = {
  adaptive: { LAMEDUCK_LOSS_BUDGET: "0.000000001", LAMEDUCK_CAP: `${hold}ms` },
  fixed: { LAMEDUCK_POLICY: "fixed", LAMEDUCK_DELAY: `${hold}ms` },
} as const;

const subjects: Readonly<Record<string, readonly string[]>> = {
  library: ["--import", fileURLToPath(import.meta.resolve("@lameduck/node/register")), "-e", server],
  init: ["-e", server],
};

/** Milliseconds of processor time so far; 10 ms is the kernel's unit. */
function used(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function startSubject(name: string, policy: keyof typeof policies): ChildProcess {
  const [command, args] =
    name === "init"
      ? [initBinary(), ["--", process.execPath, ...subjects["init"]!]]
      : [process.execPath, subjects[name]!];
  const env = { PATH: process.env["PATH"], KUBERNETES_SERVICE_HOST: "198.18.0.1", ...policies[policy] };
  return spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
}

/** Open loop: as many as are due by now. */
function load(addresses: number): () => void {
  const from = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    for (; sent < ((performance.now() - from) / 1_000) * rate; sent++) {
      const sender = sent % addresses;
      const localAddress = `127.1.${sender >> 8}.${sender & 255 || 1}`;
      get({ host: "127.0.0.1", port, localAddress, agent: false }, (response) => response.resume()).on(
        "error",
        () => {},
      );
    }
  }, 5);
  return () => clearInterval(timer);
}

/** Share of a processor that the subject took in its hold. */
async function measure(name: string, policy: keyof typeof policies, addresses: number): Promise<number> {
  const subject = startSubject(name, policy);
  const pid = subject.pid!;
  const ended = once(subject, "exit");
  await once(subject.stdout!, "data");
  const stop = load(addresses);
  await pause(before);
  const begun = used(pid);
  subject.kill("SIGTERM");
  // Just before its end, after which nothing can be read.
  await pause(hold * 0.95);
  const share = (used(pid) - begun) / (hold * 0.95);
  stop();
  await ended;
  return share;
}

if (process.env["LAMEDUCK_BENCH_INSIDE"] === undefined) {
  const inside = [process.execPath, fileURLToPath(import.meta.url), String(rate)];
  const isolated = ["-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", ...inside];
  const { status } = spawnSync("unshare", isolated, {
    stdio: "inherit",
    env: { ...process.env, LAMEDUCK_BENCH_INSIDE: "1" },
  });
  process.exitCode = status ?? 1;
} else {
  console.log(`${rate} new connections/s, holds of ${hold / 1_000} s; share of a processor in the hold`);
  for (const name of Object.keys(subjects))
    for (const addresses of [4, 1_000]) {
      const shares: number[] = [];
      for (const policy of ["adaptive", "fixed"] as const)
        shares.push(await measure(name, policy, addresses));
      const [adaptive = 0, fixed = 0] = shares.map((share) => Math.round(share * 1_000) / 10);
      console.log(
        `${name.padEnd(8)} ${String(addresses).padStart(5)} addresses: adaptive ${adaptive} %, fixed ${fixed} %`,
      );
    }
}
