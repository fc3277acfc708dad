import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { chartEnvironment } from "../bench/chart-environment.ts";
import { writeOperator } from "../bench/operator-program.ts";
import { CoordinatorStandIn } from "../../watcher/test/coordinator.ts";
import { asNftList } from "../../watcher/test/rule-sets.ts";

const directory = mkdtempSync(join(tmpdir(), "lameduck-watcher-"));
after(() => rmSync(directory, { recursive: true }));
const tokenFile = join(directory, "token");
writeFileSync(tokenFile, "token");
const program = await writeOperator(directory);
const mebibyte = 1_024;

/** MiB above those of a Node that does nothing. They are 12, 20 where V8 compiles, and 29 where the program is one file. */
const most = 16;

class Started implements AsyncDisposable {
  readonly process: ChildProcess;

  constructor(args: readonly string[]) {
    const environment = { ...process.env, ...chartEnvironment("watcher"), NODE_ENV: "production" };
    this.process = spawn(process.execPath, args, {
      env: { ...environment, PATH: `${directory}:${process.env["PATH"]}` },
      stdio: ["ignore", "pipe", "inherit"],
    });
  }

  get resident(): number {
    const status = readFileSync(`/proc/${this.process.pid}/status`, "latin1");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / mebibyte;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill();
    await once(this.process, "exit");
  }
}

describe("the watcher of the image", () => {
  it("takes little more memory than Node itself, however many pods have gone", async () => {
    await using idle = new Started(["-e", "process.stdout.write('up'); setInterval(() => {}, 1e9)"]);
    if (idle.process.stdout !== null) await once(idle.process.stdout, "data");
    const service = (index: number) => ({
      endpoints: [`10.0.${index}.1`, `10.0.${index}.2`],
      isStale: false,
      isSticky: false,
      isExternal: false,
    });
    writeFileSync(join(directory, "rules"), asNftList(Array.from({ length: 50 }, (_, at) => service(at))));
    // Nobody tells of changes here, so that it looks as often as it ever does.
    const nft = `case $2 in tables) echo "table ip kube-proxy";; table) cat ${directory}/rules;; *) exit 1;; esac`;
    writeFileSync(join(directory, "nft"), `#!/bin/sh\n${nft}\n`, { mode: 0o755 });
    const coordinator = await CoordinatorStandIn.start();
    try {
      const args = [
        `--coordinator=${coordinator.url.href}`,
        `--token-file=${tokenFile}`,
        "--log-level=error",
      ];
      const consumer = ["--consumer=kube-proxy=nftables", "--node=node1"];
      await using watcher = new Started([program, "watcher", ...args, ...consumer]);
      coordinator.withdraw("10.0.0.1");
      for (let gone = 1; gone <= 40; gone++) {
        coordinator.withdraw(`10.1.0.${gone}`);
        const isApplied = (): boolean => {
          const { also } = coordinator.progress();
          return also?.some(([, to]) => to > gone) === true;
        };
        for (let tries = 0; !isApplied(); tries++) {
          assert.ok(tries < 1_000, `never let go of the ${gone}th`);
          await delay(10);
        }
      }
      const more = watcher.resident - idle.resident;
      assert.ok(more < most, `${more.toFixed(1)} MiB more than Node's ${idle.resident.toFixed(1)}`);
    } finally {
      await coordinator.stop();
    }
  });
});
