import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { RuleChanges } from "../../watcher/src/kube-proxy/rule-changes.ts";
import { parseWatcherFlags } from "../../watcher/src/flags.ts";
import { steadyNow } from "../../coordinator/src/termination-view.ts";
import { coordinating, type Coordinating } from "../../coordinator/test/fixture.ts";
import { withoutRootOr } from "../../../scripts/programs.ts";
import { asIptablesSave, asNftList } from "../../watcher/test/rule-sets.ts";

const directory = mkdtempSync(join(tmpdir(), "lameduck-watcher-"));
const tokenFile = join(directory, "token");
writeFileSync(tokenFile, "token-node1\n");
after(() => rmSync(directory, { recursive: true }));
const main = join(import.meta.dirname, "..", "dist", "main.js");

const needed = ["--coordinator", "http://127.0.0.1:1", "--token-file", tokenFile];

describe("the flags of the watcher", () => {
  it("say what is wrong, and where", () => {
    for (const [args, told] of [
      [["--consumer", "kube-proxy"], /--coordinator: is missing/],
      [["--coordinator", "https://x:1"], /--coordinator: "https:\/\/x:1" is no URL such as http/],
      [["--coordinator", "http://x:1"], /--token-file: is missing/],
      [needed, /--consumer: is missing/],
      [[...needed, "--consumer", "bind"], /"bind" is none of kube-proxy, haproxy/],
      [[...needed, "--consumer", "kube-proxy=userspace"], /is not of the form kube-proxy\[=/],
      [
        [...needed, "--consumer", "kube-proxy", "--serves", "ingressclass/x"],
        /--serves: "ingressclass\/x" is not/,
      ],
      [[...needed, "--consumer", "haproxy=here"], /is not of the form haproxy=SOCKET/],
      [[...needed, "--consumer", "http=http://a", "--consumer", "http=http://b"], /http is given twice/],
    ] as const)
      assert.throws(() => parseWatcherFlags(args, {}), told);
  });

  it("give two proxies of one node two names: those of their pods", () => {
    const nameOf = (...consumer: string[]): string | undefined =>
      parseWatcherFlags([...needed, ...consumer], { NODE_NAME: "node1" })?.name;
    assert.equal(nameOf("--consumer", "kube-proxy"), "node1");
    assert.equal(nameOf("--consumer", "http=http://a", "--serves", "node"), "node1");
    assert.equal(nameOf("--consumer", "haproxy=/run/x.sock"), hostname());
  });

  it("take the node's name from NODE_NAME, and several consumers", () => {
    const consumers = [
      "kube-proxy",
      "haproxy=/run/x.sock",
      "nginx=/etc/nginx.conf",
      "kube-proxy=metrics",
    ].slice(0, 3);
    const flags = parseWatcherFlags([...needed, ...consumers.flatMap((one) => ["--consumer", one])], {
      NODE_NAME: "node7",
    });
    assert.deepEqual([flags?.name, flags?.node], ["node7", "node7"]);
    assert.deepEqual(
      flags?.consumers.map(({ kind }) => kind),
      ["kube-proxy", "haproxy", "nginx"],
    );
    assert.equal(parseWatcherFlags(["--help"]), undefined);
  });
});

const rules = (addresses: readonly string[]) => [
  { endpoints: addresses, isStale: false, isSticky: false, isExternal: false },
];

/** A node: a network namespace whose rules are its own, and through which this machine's loopback is not reached. */
class NodeOfItsOwn implements Disposable {
  readonly name = `lameduck-w${process.pid}`;

  constructor() {
    execFileSync("ip", ["netns", "add", this.name]);
  }

  run(command: readonly string[], input = ""): void {
    execFileSync("ip", ["netns", "exec", this.name, ...command], {
      input,
      stdio: ["pipe", "ignore", "pipe"],
    });
  }

  [Symbol.dispose](): void {
    execFileSync("ip", ["netns", "delete", this.name]);
  }
}

/** What the pod hears. */
const stateOf = async ({ ask }: Coordinating, uid: string): Promise<string> =>
  (await ask({ path: `/v1/pods/shop/web-0?uid=${uid}&wait=0`, from: "127.0.0.5" })).text;

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400; tries++) {
    if (await isTrue()) return;
    await delay(50);
  }
  assert.fail(`never: ${what}`);
}

describe(
  "the process, with a real coordinator and the rules of a node",
  { skip: withoutRootOr("ip", "iptables-nft-restore", "nft") },
  () => {
    const modes = [
      [
        "iptables",
        ["iptables-nft-restore"],
        (addresses: readonly string[]) => asIptablesSave(rules(addresses)),
      ],
      [
        "nftables",
        ["nft", "-f", "-"],
        (addresses: readonly string[]) =>
          `table ip kube-proxy {\n}\ndelete table ip kube-proxy\n${asNftList(rules(addresses))}`,
      ],
    ] as const;
    for (const [mode, command, write] of modes)
      it(`releases a pod when ${mode} lets go of it, and not before; a node that lists a pod long after its end is named`, async () => {
        using node = new NodeOfItsOwn();
        let [uid, passed] = ["", 0];
        const news: string[] = [];
        await using cluster = await coordinating(
          (scene) => {
            scene.node("node1");
            uid = scene.pod("web-0", "127.0.0.5");
            scene.pod("web-1", "127.0.0.6");
          },
          {
            now: () => steadyNow() + passed,
            listeners: [
              ({ name, stuck = [] }, what) =>
                void news.push([name, what, ...stuck.map((one) => one.name)].join(" ")),
            ],
          },
        );
        node.run([...command], write(["127.0.0.5", "10.0.0.1"]));
        // The rules are the node's, and the coordinator is reached from here: only the programs run inside.
        const inside = join(directory, mode);
        execFileSync("mkdir", ["-p", inside]);
        for (const program of ["iptables-nft-save", "ip6tables-nft-save", "iptables-legacy-save", "nft"])
          writeFileSync(
            join(inside, program),
            `#!/bin/sh\nexec ip netns exec ${node.name} /usr/sbin/${program} "$@"\n`,
            { mode: 0o755 },
          );
        const child = spawn(
          process.execPath,
          [
            main,
            "watcher",
            "--coordinator",
            `http://127.0.0.1:${cluster.port}`,
            "--token-file",
            tokenFile,
            "--consumer",
            `kube-proxy=${mode}`,
            "--node",
            "node1",
          ],
          {
            env: { ...process.env, PATH: `${inside}:${process.env["PATH"]}` },
            stdio: ["ignore", "ignore", "pipe"],
          },
        );
        let log = "";
        child.stderr.setEncoding("utf8").on("data", (chunk: string) => (log += chunk));
        try {
          await until("it watches", () => Promise.resolve(log.includes("watching")));
          cluster.scene.terminate("web-0");
          cluster.scene.withdraw("web-0");
          await until("it is behind", async () =>
            (await stateOf(cluster, uid)).includes("behind: kube-proxy/node1 (rules)"),
          );
          node.run([...command], write(["10.0.0.1"]));
          await until("it is released", async () =>
            (await stateOf(cluster, uid)).includes("state: released"),
          );
          assert.match(await stateOf(cluster, uid), /consumers: 1\/1/);
          node.run([...command], write(["127.0.0.6"]));
          cluster.scene.terminate("web-1");
          cluster.scene.withdraw("web-1");
          await until("it is asked about", () => Promise.resolve(news.includes("web-1 numbered")));
          cluster.scene.gone("web-1");
          await until("its end is seen", () => Promise.resolve(news.includes("web-1 ended")));
          passed = 61_000;
          await until("the node is named", () =>
            Promise.resolve(news.includes("web-1 stuck kube-proxy/node1")),
          );
          const [{ name, pod, pods } = {}] = cluster.coordinator.status().stuck ?? [];
          assert.deepEqual([name, pod, pods], ["kube-proxy/node1", "shop/web-1", 1]);
        } finally {
          child.kill("SIGTERM");
          const [code] = (await once(child, "exit")) as [number | null];
          assert.equal(code, 0, log);
        }
      });

    it("is told of changes by nft monitor, and does not wait where there is none", async (context) => {
      using node = new NodeOfItsOwn();
      const own = process.env["PATH"] ?? "";
      const changes = new RuleChanges();
      context.after(() => {
        process.env["PATH"] = own;
        changes.stop();
      });
      const inside = join(directory, "monitored");
      execFileSync("mkdir", ["-p", inside]);
      const nft = (script: string): void =>
        writeFileSync(join(inside, "nft"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      nft(`exec ip netns exec ${node.name} /usr/sbin/nft "$@"`);
      process.env["PATH"] = `${inside}:${own}`;
      for (const [, command, write] of modes) {
        const signal = AbortSignal.timeout(20_000);
        const told = changes.after(performance.now(), signal).then(() => "told");
        // The first changes may come before it listens.
        for (let count = 0, now = ""; now !== "told"; count++) {
          node.run([...command], write([`10.0.0.${count % 2}`]));
          now = await Promise.race([told, delay(100, "not yet")]);
        }
        assert.ok(!signal.aborted, command.join(" "));
        await changes.after(-Infinity, AbortSignal.timeout(20_000));
      }
      changes.stop();
      nft("exit 1");
      const signal = AbortSignal.timeout(20_000);
      await changes.after(performance.now(), signal);
      assert.ok(!signal.aborted, "it waits for a program that has ended");
    });
  },
);
