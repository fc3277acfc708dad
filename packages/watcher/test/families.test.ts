import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { ipvsRules } from "../src/kube-proxy/ipvs.ts";
import { emptyRules, KubeProxy, type AddressFamily, type FoundRules } from "../src/kube-proxy/kube-proxy.ts";

const { signal } = new AbortController();
const both = ["10.244.1.5", "fd00::1:5"];

function proxy(rules: Readonly<Record<AddressFamily, FoundRules | undefined>>): KubeProxy {
  return new KubeProxy([{ mode: "played", used: (family) => Promise.resolve(rules[family]) }]);
}

describe("kube-proxy in a cluster of two address families", () => {
  it("kube-proxy may have all Services in one of two address families", async () => {
    const used = new Set(["10.244.1.5"]);
    for (const ip6 of [emptyRules, undefined])
      assert.deepEqual(await proxy({ ip: { used }, ip6 }).stillUsed(both, signal), used);
  });

  it("the rules of kube-proxy are read in both address families where both have Services", async () => {
    const rules = { ip: { used: new Set<string>() }, ip6: { used: new Set(["fd00::1:5"]) } };
    assert.deepEqual(await proxy(rules).stillUsed(both, signal), new Set(["fd00::1:5"]));
  });

  it("kube-proxy has let go of nothing where neither address family has a Service", async () => {
    for (const nothing of [emptyRules, undefined])
      await assert.rejects(proxy({ ip: nothing, ip6: nothing }).stillUsed(both, signal), /no rules here/);
    await assert.rejects(proxy({ ip: undefined, ip6: undefined }).stillUsed([], signal), /no rules here/);
  });

  it("kube-proxy in IPVS mode must show its virtual servers", async () => {
    const rules = { ip: { used: new Set<string>(), isForIpvs: true }, ip6: undefined };
    await assert.rejects(proxy(rules).stillUsed(["10.244.1.5"], signal), /IPVS/);
  });

  it("kube-proxy in IPVS mode must show its virtual servers also where chains of an earlier mode are left", async () => {
    const place = (mode: string, found: FoundRules | undefined) => ({
      mode,
      used: () => Promise.resolve(found),
    });
    const left = place("nftables", { used: new Set<string>() });
    const marks = place("iptables", { used: new Set<string>(), isForIpvs: true });
    const hidden = new KubeProxy([left, marks, place("ipvs", undefined)]);
    await assert.rejects(hidden.stillUsed(["10.244.1.5"], signal), /IPVS/);
    const seen = new KubeProxy([left, marks, place("ipvs", { used: new Set(["10.244.1.5"]) })]);
    assert.deepEqual(await seen.stillUsed(["10.244.1.5"], signal), new Set(["10.244.1.5"]));
  });
});

describe("changes of kube-proxy's rules", () => {
  const told = async (context: TestContext, monitored: readonly AddressFamily[]): Promise<boolean> => {
    const folder = mkdtempSync(join(tmpdir(), "lameduck-families-"));
    writeFileSync(join(folder, "nft"), "#!/bin/sh\nexec sleep 60\n", { mode: 0o755 });
    const own = process.env["PATH"];
    process.env["PATH"] = `${folder}:${own}`;
    const place = (of: AddressFamily) => ({
      mode: of,
      isMonitored: monitored.includes(of),
      used: (family: AddressFamily) =>
        Promise.resolve(family === of ? { used: new Set<string>() } : undefined),
    });
    const seen = new KubeProxy([place("ip"), place("ip6")]);
    context.after(() => {
      process.env["PATH"] = own;
      rmSync(folder, { recursive: true });
    });
    await seen.stillUsed(both, signal);
    const end = AbortSignal.timeout(1_000);
    await seen.changed(performance.now(), end);
    seen.rest();
    return end.aborted;
  };

  it("changes of kube-proxy's rules are waited for only where the rules of each address family tell of changes", async (context) => {
    assert.equal(await told(context, ["ip", "ip6"]), true, "both are waited for");
    assert.equal(await told(context, ["ip6"]), false);
    assert.equal(await told(context, ["ip"]), false);
  });
});

describe("the list of virtual servers", () => {
  const heading =
    "IP Virtual Server version 1.2.1 (size=4096)\nProt LocalAddress:Port Scheduler Flags\n  -> ...\n";
  const going = "TCP  0A600001:0050 rr\n";
  const staying = "TCP  0A600002:0050 rr\n  -> 0AF40105:1F90      Masq    1      0          0\n";
  const reading = (...lists: string[]): KubeProxy =>
    new KubeProxy([ipvsRules(() => Promise.resolve(lists.shift() ?? heading))]);

  it("the list of virtual servers is read again where it left a server out because another server went meanwhile", async () => {
    const torn = reading(heading + going, heading + staying, heading + staying);
    assert.deepEqual(await torn.stillUsed(["10.244.1.5"], signal), new Set(["10.244.1.5"]));
  });

  it("the list of virtual servers proves nothing while it changes with each read", async () => {
    const lists = Array.from({ length: 6 }, (_, at) => heading + (at % 2 === 0 ? going : staying));
    await assert.rejects(reading(...lists).stillUsed(["10.244.1.5"], signal), /change all the time/);
  });
});
