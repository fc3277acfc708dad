import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseConfig } from "@lameduck/drain";
import type { ClusterFacts } from "../src/index.ts";
import type { InjectionSettings } from "../src/policy/settings.ts";
import { web, pod, injected, result, commandOf, codes, type Fields, type Result } from "./injected.ts";

describe("times", () => {
  const cases: readonly (readonly [string, Fields, Partial<InjectionSettings>, number, string])[] = [
    ["a short grace period", { terminationGracePeriodSeconds: 5 }, {}, 30, "25s"],
    ["a long grace period", { terminationGracePeriodSeconds: 590 }, {}, 600, "25s"],
    ["a grace period above the greatest", { terminationGracePeriodSeconds: 900 }, {}, 900, "25s"],
    ["a cap", {}, { capSeconds: 60 }, 90, "60s"],
    ["a floor above what is usual", {}, { floorSeconds: 40 }, 70, "40s"],
    ["slow senders", {}, { convergenceSeconds: 120 }, 210, "180s"],
    ["a reserve", {}, { reserveSeconds: 10 }, 35, "25s"],
    ["nodes that leave 15 s at a shutdown", {}, { nodeShutdownSeconds: 15 }, 40, "10s"],
    ["nodes that leave 2 s", {}, { nodeShutdownSeconds: 2 }, 31, "1s"],
    ["nodes that leave more than is needed", {}, { nodeShutdownSeconds: 120 }, 55, "25s"],
    ["less time than its own shutdown takes", {}, { nodeShutdownSeconds: 15, reserveSeconds: 40 }, 47, "7s"],
    ["a cap that nodes leave no time for", {}, { nodeShutdownSeconds: 15, capSeconds: 60 }, 40, "10s"],
    ["a grace period for all", {}, { gracePeriodSeconds: 40 }, 40, "25s"],
    [
      "a grace period for all that leaves a shorter hold",
      { terminationGracePeriodSeconds: 4 },
      { gracePeriodSeconds: 20 },
      20,
      "15s",
    ],
  ];
  for (const [what, spec, settings, grace, cap] of cases)
    it(`a pod gets a grace period of ${grace} s and a cap of ${cap} with ${what}`, () => {
      const made = result(pod(spec), settings);
      assert.equal(made.spec.terminationGracePeriodSeconds ?? 30, grace);
      assert.equal(commandOf(made)[7], cap);
    });

  it("a floor is passed on to lameduck-init", () => {
    assert.deepEqual(commandOf(result(pod(), { floorSeconds: 3 })).slice(8), ["--floor", "3s"]);
  });
});

describe("the kubelet's sleep instead", () => {
  const sleepOf = ({ spec }: Result): unknown => spec.containers[0]?.lifecycle?.preStop;
  const cases: readonly (readonly [string, Fields, Partial<InjectionSettings>, Partial<ClusterFacts>])[] = [
    ["the sleep is asked for", {}, { initVolume: "none" }, {}],
    ["the pod is on the host's network", { hostNetwork: true }, {}, {}],
    ["nodes have two processors", {}, {}, { architectures: ["amd64", "arm64"] }],
    ["the pod's processor is without a binary", { nodeSelector: { "kubernetes.io/arch": "s390x" } }, {}, {}],
    ["a volume has our name", { volumes: [{ name: "lameduck-init-volume", emptyDir: {} }] }, {}, {}],
    [
      "something is mounted at our place",
      { containers: [{ ...web, volumeMounts: [{ name: "x", mountPath: "/lameduck/y" }] }] },
      {},
      {},
    ],
    [
      "an image volume is asked for on an old cluster",
      {},
      { initVolume: "image-volume", initImage: "x" },
      { version: { major: 1, minor: 34 } },
    ],
    [
      "an image volume is asked for on a cluster of unknown version",
      {},
      { initVolume: "image-volume", initImage: "x" },
      { version: undefined },
    ],
  ];
  for (const [what, spec, settings, known] of cases)
    it(`a pod gets the kubelet's sleep instead of lameduck-init: ${what}`, () => {
      const made = result(pod(spec), settings, known);
      assert.deepEqual(sleepOf(made), { sleep: { seconds: 10 } });
      assert.equal(made.spec.terminationGracePeriodSeconds, 40);
    });

  it("the kubelet's sleep is never longer than the senders need, and never shorter than the floor", () => {
    assert.deepEqual(sleepOf(result(pod(), { initVolume: "none", capSeconds: 60 })), {
      sleep: { seconds: 10 },
    });
    assert.deepEqual(sleepOf(result(pod(), { initVolume: "none", capSeconds: 4 })), {
      sleep: { seconds: 4 },
    });
    assert.deepEqual(sleepOf(result(pod(), { initVolume: "none", floorSeconds: 20 })), {
      sleep: { seconds: 20 },
    });
  });
});

describe("init volumes", () => {
  const keyOf = ({ spec }: Result): unknown =>
    (spec.volumes?.[0]?.["configMap"] as { items: { key: string }[] } | undefined)?.items[0]?.key;

  it("an init volume has the binary of the node's processor", () => {
    assert.equal(keyOf(result(pod())), "lameduck-init-amd64");
    assert.equal(keyOf(result(pod(), {}, { architectures: ["arm64"] })), "lameduck-init-arm64");
    assert.equal(keyOf(result(pod(), { architecture: "arm64" })), "lameduck-init-arm64");
    const selects = pod({ nodeSelector: { "kubernetes.io/arch": "arm64" } });
    assert.equal(keyOf(result(selects, {}, { architectures: ["amd64", "arm64"] })), "lameduck-init-arm64");
  });

  it("an image with lameduck-init is a volume, or is copied by an init container that may do nothing else", () => {
    const image = { initImage: "registry.example/lameduck:0.1.0" };
    const mounted = result(pod(), { initVolume: "image-volume", ...image });
    assert.deepEqual(mounted.spec.volumes?.[0]?.["image"], {
      reference: image.initImage,
      pullPolicy: "IfNotPresent",
    });
    const copied = result(pod({ initContainers: [{ name: "first" }] }), {
      initVolume: "init-container",
      ...image,
    });
    const [copying, first] = copied.spec.initContainers ?? [];
    assert.equal(first?.["name"], "first");
    assert.match(
      String((copying?.["command"] as string[] | undefined)?.[2]),
      /copyFileSync\("\/lameduck-init","\/lameduck\/lameduck-init"\)/,
    );
    assert.equal((copying?.["securityContext"] as Fields | undefined)?.["runAsNonRoot"], true);
  });
});

describe("the init container", () => {
  const byImage = { initVolume: "init-container", initImage: "registry.example/lameduck:1" } as const;
  const initOf = (given: unknown): Fields[] =>
    injected(given, byImage).patch.flatMap(({ path, value }) =>
      path.startsWith("/spec/initContainers") ? ([value].flat() as Fields[]) : [],
    );

  it("the init container leaves the pod's class Guaranteed, and passes a quota of limits", () => {
    const [{ resources } = {}] = initOf(pod());
    const { requests, limits } = resources as Record<string, Fields>;
    assert.deepEqual(requests, limits);
    assert.deepEqual(Object.keys(limits ?? {}).sort(), ["cpu", "memory"]);
  });

  it("the init container is not added where its name is taken, because the pod would be refused", () => {
    for (const taken of [
      pod({ initContainers: [{ name: "lameduck-init-volume" }] }),
      pod({ containers: [web, { name: "lameduck-init-volume" }] }),
    ]) {
      assert.deepEqual(initOf(taken), []);
      assert.ok(injected(taken, byImage).reasons.some(({ code }) => code === "sleep-instead"));
    }
  });
});

describe("a block device at our place", () => {
  it("a block device at our place gives the pod a sleep, as a mount there does, because the pod would be refused", () => {
    for (const devicePath of ["/lameduck", "/lameduck-order/disk"]) {
      const taken = injected(
        pod({ containers: [{ ...web, volumeDevices: [{ name: "disk", devicePath }] }] }),
      );
      assert.ok(codes(taken).includes("sleep-instead"), devicePath);
    }
    const other = { ...web, volumeDevices: [{ name: "disk", devicePath: "/dev/xvda" }] };
    assert.ok(codes(injected(pod({ containers: [other] }))).includes("held-by-hook"));
  });
});

describe("a negative grace period", () => {
  it("a negative grace period counts as none, and is told", () => {
    const { patch, warnings } = injected(pod({ terminationGracePeriodSeconds: -5 }));
    assert.match(warnings.join(), /terminationGracePeriodSeconds is -5; 30 s are assumed/);
    assert.deepEqual(patch, injected(pod({ terminationGracePeriodSeconds: 30 })).patch);
    assert.deepEqual(injected(pod({ terminationGracePeriodSeconds: 30 })).warnings, []);
  });
});

describe("a reserve below what lameduck-init keeps by itself", () => {
  it("a reserve below what lameduck-init keeps by itself makes no hook that lameduck-init refuses", () => {
    const { patch } = injected(pod(), { capSeconds: 40, reserveSeconds: 1 });
    const command = /"--grace","(\d+)s","--prestop","0s","--cap","(\d+)s"/.exec(JSON.stringify(patch)) ?? [];
    const [grace, cap] = command.slice(1).map(Number);
    assert.equal(parseConfig({ grace: `${grace}s`, cap: `${cap}s` }).cap, 36_000);
  });
});

describe("a container that joins an injected pod", () => {
  it("a container that joins an injected pod gets no second mount at one place, because the pod would be refused", () => {
    const joined = { name: "late", volumeMounts: [{ name: "own", mountPath: "/lameduck" }] };
    const { patch } = injected(
      pod({ containers: [joined] }, { annotations: { "lameduck.dev/injected": "0.1.0" } }),
    );
    assert.ok(patch.length > 0);
    assert.ok(patch.every(({ path }) => !path.includes("volumeMounts")));
  });
});
