import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import fc from "fast-check";
import { mayBePending, readSyncs, syncMetrics } from "../src/kube-proxy/sync-metrics.ts";
import { usedInIpvs } from "../src/rules/ip-vs.ts";
import { withoutRootOr } from "../../../scripts/programs.ts";
import { usedInNat } from "../src/rules/iptables-save.ts";
import { usedInTable } from "../src/rules/nft-list.ts";
import { asIptablesSave, asIpvs, asNftList, services, type Service } from "./rule-sets.ts";

const fixtures = join(import.meta.dirname, "fixtures");
const recorded = (start: string): (readonly [name: string, text: string])[] =>
  readdirSync(fixtures)
    .filter((name) => name.startsWith(start))
    .map((name) => [name, readFileSync(join(fixtures, name), "latin1")]);

/** What a new connection can be sent to, by the model. */
const truth = (all: readonly Service[]): Set<string> =>
  new Set(all.filter(({ isStale }) => !isStale).flatMap(({ endpoints }) => endpoints));

const everybody = [
  "192.0.2.1",
  ...Array.from({ length: 40 }, (_, index) => `10.0.${index % 4}.${index + 1}`),
];

const readers = [
  ["iptables-save", asIptablesSave, usedInNat],
  ["nft list table", asNftList, usedInTable],
  ["/proc/net/ip_vs", asIpvs, usedInIpvs],
] as const;

for (const [name, write, read] of readers)
  describe(`the reader of ${name}`, () => {
    it(`the reader of ${name} finds exactly the addresses that are reached, in generated rule sets`, () => {
      fc.assert(
        fc.property(services, (all) => {
          const used = read(write(all), everybody);
          assert.deepEqual([...used].sort(), [...truth(all)].sort());
        }),
        { numRuns: 300 },
      );
    });

    it(`the reader of ${name} takes nothing from a text that is cut off`, () => {
      fc.assert(
        fc.property(services, fc.double({ min: 0, max: 1, noNaN: true }), (all, share) => {
          const whole = write(all);
          const cut = whole.slice(0, Math.floor(share * (whole.length - 1)));
          // The kernel does not say where its list ends; and what follows COMMIT is a remark.
          if (name === "/proc/net/ip_vs" ? cut.endsWith("\n") : cut.includes("\nCOMMIT\n")) return;
          assert.throws(() => read(cut, everybody));
        }),
        { numRuns: 300 },
      );
    });

    it(`the reader of ${name} is not misled by an address that begins or ends as another`, () => {
      const all: Service[] = [
        { endpoints: ["10.0.0.11"], isStale: false, isSticky: false, isExternal: false },
      ];
      assert.deepEqual(
        [...read(write(all), ["10.0.0.1", "0.0.0.11", "110.0.0.11", "10.0.0.11"])],
        ["10.0.0.11"],
      );
    });
  });

describe("rules that a real kube-proxy wrote", () => {
  const parts = [
    ["iptables-nft-save", usedInNat],
    ["nft-list", usedInTable],
  ] as const;
  for (const [start, read] of parts)
    for (const [name, text] of recorded(start))
      it(`the addresses in use are found in rules that a real kube-proxy wrote: ${name}`, () => {
        const [, after] = /(full|after)/.exec(name) ?? [];
        const ready = ["10.99.0.1", "10.99.0.3", "10.99.3.1", "10.99.3.2", "10.99.4.1", "10.99.5.1"];
        // All endpoints of one Service terminate: kube-proxy sends to them.
        const going = ["10.99.2.1", "10.99.2.2"];
        const taken = ["10.99.0.2", "10.99.1.1", "10.99.1.2", "10.99.6.1"];
        const asked = [...ready, ...going, ...taken, "10.99.0.4", "10.99.3.3", "10.9.0.1"];
        const used = [...ready, ...going, ...(after === "full" ? taken : [])];
        assert.deepEqual([...read(text, asked)].sort(), used.sort());
      });
});

describe("what is no rule set of kube-proxy", () => {
  it("a text that is no rule set of kube-proxy is never taken for an empty rule set", () => {
    for (const [, , read] of readers)
      for (const text of [
        "",
        "\n",
        "garbage\n",
        "*nat\nCOMMIT\n",
        "table ip kube-proxy {\n}\n",
        "# Table `nat' is incompatible, use 'nft' tool.\n",
      ])
        assert.throws(() => read(text, ["10.0.0.1"]), text);
  });
});

const skip = withoutRootOr("unshare", "setpriv", "iptables-nft-restore", "nft");

describe("the programs, in a network namespace of their own", { skip }, () => {
  const inside = (script: string): string =>
    execFileSync("unshare", ["--net", "sh", "-ec", script], {
      encoding: "latin1",
      stdio: ["ignore", "pipe", "ignore"],
    });
  const all: Service[] = [
    { endpoints: ["10.0.0.1", "10.0.1.2"], isStale: false, isSticky: true, isExternal: true },
    { endpoints: ["10.0.2.3"], isStale: false, isSticky: false, isExternal: true },
    { endpoints: ["10.0.3.4"], isStale: true, isSticky: false, isExternal: false },
  ];

  for (const backend of ["nft", "legacy"] as const)
    it(`iptables (${backend}) writes the rules that the watcher reads`, () => {
      const text = inside(`cat <<'EOF' | iptables-${backend}-restore
${asIptablesSave(all)}EOF
iptables-${backend}-save -t nat`);
      assert.deepEqual(usedInNat(text, everybody), truth(all));
    });

  it("nft writes the rules that the watcher reads", () => {
    const text = inside(`cat <<'EOF' | nft -f -
${asNftList(all)}EOF
nft list table ip kube-proxy`);
    assert.deepEqual(usedInTable(text, everybody), truth(all));
  });

  it("the programs that read rules need NET_ADMIN for tables of nftables, and NET_RAW too for the legacy tables", () => {
    const reads = (program: string, ...capabilities: string[]): boolean => {
      const bounding = ["-all", ...capabilities.map((one) => `+${one}`)].join(",");
      const limited = `setpriv --bounding-set ${bounding} --inh-caps -all --no-new-privs ${program}`;
      // A table of each kind, so that there is something to be read.
      const prepared =
        "iptables-nft -t nat -N KUBE-SERVICES; iptables-legacy -t nat -N KUBE-SERVICES; nft add table ip kube-proxy";
      return inside(`${prepared}; ${limited} >/dev/null && echo yes || echo no`) === "yes\n";
    };
    for (const program of ["iptables-nft-save -t nat", "nft list table ip kube-proxy"]) {
      assert.ok(!reads(program), program);
      assert.ok(!reads(program, "net_raw"), program);
      assert.ok(reads(program, "net_admin"), program);
    }
    assert.ok(!reads("iptables-legacy-save -t nat", "net_admin"));
    assert.ok(!reads("iptables-legacy-save -t nat", "net_raw"));
    assert.ok(reads("iptables-legacy-save -t nat", "net_admin", "net_raw"));
  });
});

describe("the metrics of a real kube-proxy", () => {
  const text = readFileSync(join(fixtures, "kube-proxy-metrics.txt"), "latin1");

  it("the metrics of kube-proxy tell how many syncs have finished, for each address family", () => {
    const four = readSyncs(text, "IPv4", "x");
    assert.deepEqual([four.finished, four.pending], [4, 0]);
    assert.equal(readSyncs(text, "IPv6", "x").finished, 1);
    assert.ok(four.lastQueued <= four.lastFinished);
  });

  it("the metrics of kube-proxy are evidence when two syncs have succeeded since, or when a sync was just done and nothing is pending", () => {
    const idle = { finished: 4, lastFinished: 100, lastQueued: 99, pending: 0 };
    const asked = { succeeded: 0, at: 101 };
    assert.equal(mayBePending({ ...asked, succeeded: 2 }, { ...idle, pending: 3 }, 0.1), false, "two syncs");
    assert.equal(
      mayBePending({ ...asked, succeeded: 1 }, { ...idle, pending: 1 }, 8),
      true,
      "one may have begun before",
    );
    assert.equal(mayBePending(asked, idle, 1), true, "its watch may be later than the coordinator's");
    assert.equal(mayBePending(asked, idle, 2.1), false, "it had applied it before we heard of it");
    assert.equal(mayBePending(asked, { ...idle, lastQueued: 101 }, 99), true, "something is queued");
    assert.equal(mayBePending(asked, { ...idle, pending: 1 }, 99), true, "something is pending");
    assert.equal(
      mayBePending(asked, { ...idle, lastFinished: 80 }, 99),
      true,
      "it has not heard of the change at all",
    );
    assert.equal(
      mayBePending(asked, { ...idle, lastFinished: 120 }, 9),
      true,
      "the clock was set back since that sync",
    );
  });

  it("the metrics of kube-proxy do not end the wait sooner when the node's clock is set forward", async (context) => {
    const now = Date.now();
    const text = Object.entries({
      duration_seconds_count: 4,
      last_timestamp_seconds: now / 1_000,
      last_queued_timestamp_seconds: now / 1_000 - 1,
      endpoint_changes_pending: 0,
    }).map(([name, value]) => `kubeproxy_sync_proxy_rules_${name} ${value}\n`);
    const server = createServer((_request, response) => response.end(text.join("")));
    await once(server.listen(0, "127.0.0.1"), "listening");
    context.after(() => server.close());
    const proxy = syncMetrics(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
    const look = async (): Promise<number> =>
      (await proxy.stillUsed(["10.244.1.5"], new AbortController().signal)).size;
    assert.equal(await look(), 1);
    context.mock.timers.enable({ apis: ["Date"], now: now + 60_000 });
    assert.equal(await look(), 1);
  });

  it("the metrics of kube-proxy count a failed sync as finished, and a failed sync is no evidence", async () => {
    const now = Date.now() / 1_000;
    const [syncs, family] = [{ finished: 4, lastFinished: now }, `{ip_family="IPv4"}`];
    const figures = (): string =>
      Object.entries({
        duration_seconds_count: syncs.finished,
        last_timestamp_seconds: syncs.lastFinished,
        last_queued_timestamp_seconds: now + 1_000,
        endpoint_changes_pending: 0,
      })
        .map(([name, value]) => `kubeproxy_sync_proxy_rules_${name}${family} ${value}\n`)
        .join("");
    const server = createServer((_request, response) => response.end(figures())).listen(0, "127.0.0.1");
    await once(server, "listening");
    const proxy = syncMetrics(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
    const isUsed = async (): Promise<boolean> =>
      (await proxy.stillUsed(["10.244.1.5"], new AbortController().signal)).size > 0;
    const used = [await isUsed()];
    for (const succeeds of [false, false, false, true, false, true]) {
      syncs.finished++;
      if (succeeds) syncs.lastFinished++;
      used.push(await isUsed());
    }
    server.close();
    assert.deepEqual(used, [true, true, true, true, true, true, false]);
  });
});
