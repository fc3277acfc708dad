import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseConfig } from "@lameduck/drain";
import {
  defaultSettings,
  inject,
  isLeftAlone,
  type ClusterFacts,
  type Injection,
  type InjectionSettings,
  type ReasonCode,
} from "../src/index.ts";
import { patched } from "../../../e2e/inject/patched.ts";

const facts: ClusterFacts = {
  lameduckVersion: "0.1.0",
  exposedBy: ["Service web"],
  version: { major: 1, minor: 36 },
  convergenceSeconds: { value: 10, origin: "kube-proxy" },
  architectures: undefined,
};

type Fields = Record<string, unknown>;

const web = { name: "web", image: "registry.example/web:1", ports: [{ containerPort: 8080 }] };

function pod(spec: Fields = {}, metadata: Fields = {}): Fields {
  return { metadata, spec: { containers: [web], ...spec } };
}

function injected(
  given: unknown,
  settings: Partial<InjectionSettings> = {},
  known: Partial<ClusterFacts> = {},
): Injection {
  return inject(given, { ...defaultSettings, ...settings }, { ...facts, ...known });
}

interface Result {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly terminationGracePeriodSeconds?: number;
    readonly volumes?: readonly Fields[];
    readonly initContainers?: readonly Fields[];
    readonly containers: readonly {
      readonly name: string;
      readonly env?: readonly { readonly name: string; readonly value?: string }[];
      readonly volumeMounts?: readonly Fields[];
      readonly lifecycle?: { readonly preStop?: Fields };
    }[];
  };
}

function result(given: unknown, ...rest: [Partial<InjectionSettings>?, Partial<ClusterFacts>?]): Result {
  const { patch, reasons } = injected(given, ...rest);
  assert.notEqual(patch.length, 0, JSON.stringify(reasons));
  return patched(given, patch) as Result;
}

const commandOf = ({ spec }: Result, index = 0): readonly string[] =>
  (spec.containers[index]?.lifecycle?.preStop?.["exec"] as { command: string[] } | undefined)?.command ?? [];

function told({ spec }: Result, index = 0): Record<string, string | undefined> {
  return Object.fromEntries((spec.containers[index]?.env ?? []).map(({ name, value }) => [name, value]));
}

const codes = ({ reasons }: Injection): ReasonCode[] => reasons.map(({ code }) => code);

describe("what a plain pod gets", () => {
  const whole = result(pod());

  it("holds by lameduck-init, and keeps for its shutdown the time that it had", () => {
    const command = ["/lameduck/lameduck-init", "wait", "--grace", "55s", "--prestop", "0s", "--cap", "25s"];
    assert.deepEqual(commandOf(whole), command);
    assert.equal(whole.spec.terminationGracePeriodSeconds, 55);
    assert.deepEqual(told(whole), { LAMEDUCK_GRACE_PERIOD: "55s", LAMEDUCK_PRESTOP: "25s" });
    assert.equal(whole.metadata.annotations["lameduck.dev/injected"], "0.1.0");
  });

  it("takes it from a ConfigMap that may be missing", () => {
    const [volume] = whole.spec.volumes ?? [];
    const { optional, defaultMode, name } = (volume ?? {})["configMap"] as Fields;
    assert.deepEqual(
      { optional, defaultMode, name },
      { optional: true, defaultMode: 0o755, name: "lameduck-init" },
    );
    assert.deepEqual(whole.spec.containers[0]?.volumeMounts, [
      { name: "lameduck-carrier", mountPath: "/lameduck", readOnly: true },
    ]);
  });

  it("is the same after a second time", () => {
    assert.deepEqual(injected(whole).patch, []);
    assert.deepEqual(codes(injected(whole)), ["already-injected", "nothing-to-do"]);
  });

  it("in a second pass holds the sidecar alone that another injector has added", () => {
    const both = {
      ...whole,
      spec: { ...whole.spec, containers: [...whole.spec.containers, { name: "istio-proxy" }] },
    };
    const again = result(both);
    assert.deepEqual(again.spec.containers[0], whole.spec.containers[0]);
    assert.deepEqual(commandOf(again, 1), commandOf(whole));
    assert.equal(again.spec.terminationGracePeriodSeconds, 55);
    assert.equal(again.spec.volumes?.length, 1);
    assert.deepEqual(injected(again).patch, []);
  });
});

describe("who is left alone, and why", () => {
  const cases: readonly (readonly [
    ReasonCode,
    unknown,
    Partial<InjectionSettings>?,
    Partial<ClusterFacts>?,
  ])[] = [
    ["not-a-pod", undefined],
    ["not-a-pod", { spec: { containers: [] } }],
    ["not-a-pod", { spec: { containers: [web, 7] } }],
    ["opted-out", pod({}, { annotations: { "lameduck.dev/inject": "false" } })],
    ["opted-out", pod({}, { labels: { "lameduck.dev/inject": "disabled" } })],
    ["opted-out", pod(), { inject: false }],
    ["of-a-job", pod({}, { ownerReferences: [{ kind: "Job" }] })],
    ["ends-by-itself", pod({ activeDeadlineSeconds: 60 })],
    ["ends-by-itself", pod({ restartPolicy: "Never" })],
    ["static-pod", pod({}, { annotations: { "kubernetes.io/config.mirror": "x" } })],
    ["static-pod", pod({}, { annotations: { "kubernetes.io/config.source": "file" } })],
    ["windows", pod({ nodeSelector: { "kubernetes.io/os": "windows" } })],
    ["windows", pod({ os: { name: "windows" } })],
    ["killed-at-once", pod({ terminationGracePeriodSeconds: 0 })],
    ["not-exposed", pod({ containers: [{ name: "a" }] }), {}, { exposedBy: [] }],
    ["not-exposed", pod(), { serves: false }],
    ["not-exposed", pod({ containers: [{ name: "a" }] }), {}, { exposedBy: undefined }],
    [
      "not-exposed",
      pod({ containers: [{ ...web, ports: [{ containerPort: 1, name: "metrics" }] }] }),
      {},
      { exposedBy: undefined },
    ],
    [
      "not-exposed",
      pod({ containers: [{ ...web, ports: [{ containerPort: 1, protocol: "UDP" }] }] }),
      {},
      { exposedBy: undefined },
    ],
    ["hook-kept", pod({ containers: [{ ...web, lifecycle: { preStop: { exec: { command: ["x"] } } } }] })],
    ["opted-out", pod({ containers: [{ ...web, lifecycle: { preStop: { sleep: { seconds: 0 } } } }] })],
    ["no-time", pod(), { reserveSeconds: 700 }],
    ["no-carrier", pod(), { carrier: "none" }, { version: { major: 1, minor: 29 } }],
  ];
  for (const [code, given, settings, known] of cases)
    it(`${code}: ${JSON.stringify(given)?.slice(0, 90)}`, () => {
      const { patch, reasons } = injected(given, settings, known);
      assert.deepEqual(patch, []);
      assert.ok(
        reasons.some((reason) => reason.code === code && reason.text !== ""),
        JSON.stringify(reasons),
      );
    });

  it("but a Job's pod that asks for it", () => {
    const asks = pod(
      { restartPolicy: "OnFailure" },
      { ownerReferences: [{ kind: "Job" }], annotations: { "lameduck.dev/inject": "true" } },
    );
    assert.notDeepEqual(injected(asks).patch, []);
  });

  it("namespaces that are not labelled, the system's and our own", () => {
    const reason = (name: string, labels?: Record<string, string>): string | undefined =>
      isLeftAlone(pod(), { name, labels, ofLameduck: "lameduck-system" })?.code;
    const enabled = { "lameduck.dev/inject": "enabled" };
    assert.equal(reason("shop", enabled), undefined);
    assert.equal(reason("shop"), "namespace-not-labelled");
    assert.equal(reason("shop", { "lameduck.dev/inject": "disabled" }), "namespace-not-labelled");
    assert.equal(reason("kube-system", enabled), "system-namespace");
    assert.equal(reason("lameduck-system", enabled), "system-namespace");
  });
});

describe("hooks and programs of the pod's own", () => {
  it("win: a container that brings Lameduck is told the grace period and nothing else", () => {
    for (const own of [
      { command: ["/bin/lameduck-init", "--", "server"] },
      { command: ["node", "--import", "@lameduck/node/register", "x.js"] },
      { env: [{ name: "NODE_OPTIONS", value: "--require /x/lameduck-register.cjs" }] },
      { lifecycle: { preStop: { exec: { command: ["/lameduck-init", "wait"] } } } },
    ]) {
      const { spec } = result(pod({ containers: [{ ...web, ...own }], terminationGracePeriodSeconds: 40 }));
      assert.equal(spec.terminationGracePeriodSeconds, 40);
      assert.equal(spec.volumes, undefined);
      assert.ok(spec.containers[0]?.env?.some(({ value }) => value === "40s"));
      assert.deepEqual(spec.containers[0]?.lifecycle, "lifecycle" in own ? own.lifecycle : undefined);
    }
  });

  it("stay where another container is held; its time is told where it is known", () => {
    const sleeps = { name: "b", lifecycle: { preStop: { sleep: { seconds: 7 } } } };
    const asks = { name: "c", lifecycle: { preStop: { httpGet: { port: 1 } } } };
    const both = result(pod({ containers: [web, sleeps, asks] }));
    assert.deepEqual(both.spec.containers[1]?.lifecycle, sleeps.lifecycle);
    assert.equal(told(both, 1)["LAMEDUCK_PRESTOP"], "7s");
    assert.deepEqual(told(both, 2), { LAMEDUCK_GRACE_PERIOD: "55s" });
  });

  it("a postStart hook keeps its place beside ours", () => {
    const { spec } = result(
      pod({ containers: [{ ...web, lifecycle: { postStart: { exec: { command: ["x"] } } } }] }),
    );
    assert.deepEqual(Object.keys(spec.containers[0]?.lifecycle ?? {}), ["postStart", "preStop"]);
  });

  it("a variable that is set stays", () => {
    const container = { ...web, env: [{ name: "LAMEDUCK_PRESTOP", value: "9s" }] };
    assert.equal(told(result(pod({ containers: [container] })))["LAMEDUCK_PRESTOP"], "9s");
  });
});

describe("the signal that software understands", () => {
  const cases: readonly (readonly [Fields, string | undefined])[] = [
    [{ image: "registry.example/haproxy:3" }, "USR1"],
    [{ image: "haproxy:3" }, undefined],
    [{ image: "docker.io/library/haproxy@sha256:0" }, undefined],
    [{ image: "registry.example/web", command: ["/usr/sbin/haproxy", "-W"] }, "USR1"],
    [{ image: "nginx" }, undefined],
    [{ image: "registry.example:5000/nginx" }, "QUIT"],
    [{ image: "haproxy", command: ["nginx"] }, "QUIT"],
    [{ image: "nginx", command: ["python3"] }, undefined],
    [{ image: "registry.example/nginx", command: ["sh", "-c", "nginx"] }, undefined],
    [{ image: "registry.example/nginx", lifecycle: { stopSignal: "SIGQUIT" } }, undefined],
  ];
  for (const [fields, signal] of cases)
    it(`${JSON.stringify(fields)}: ${signal ?? "the kubelet's"}`, () => {
      const command = commandOf(result(pod({ containers: [{ ...web, ...fields }] })));
      const at = command.indexOf("--then");
      assert.equal(at === -1 ? undefined : command[at + 1], signal);
    });
});

describe("times", () => {
  const cases: readonly (readonly [string, Fields, Partial<InjectionSettings>, number, string])[] = [
    ["a short grace period", { terminationGracePeriodSeconds: 5 }, {}, 30, "25s"],
    ["a long one", { terminationGracePeriodSeconds: 590 }, {}, 600, "25s"],
    ["one above the greatest", { terminationGracePeriodSeconds: 900 }, {}, 900, "25s"],
    ["the cap", {}, { capSeconds: 60 }, 90, "60s"],
    ["a floor above what is usual", {}, { floorSeconds: 40 }, 70, "40s"],
    ["slow senders", {}, { convergenceSeconds: 120 }, 210, "180s"],
    ["a reserve", {}, { reserveSeconds: 10 }, 35, "25s"],
    ["a grace period for all", {}, { gracePeriodSeconds: 40 }, 40, "25s"],
    [
      "one that is short for all",
      { terminationGracePeriodSeconds: 4 },
      { gracePeriodSeconds: 20 },
      20,
      "15s",
    ],
  ];
  for (const [what, spec, settings, grace, cap] of cases)
    it(what, () => {
      const made = result(pod(spec), settings);
      assert.equal(made.spec.terminationGracePeriodSeconds ?? 30, grace);
      assert.equal(commandOf(made)[7], cap);
    });

  it("a floor is passed on", () => {
    assert.deepEqual(commandOf(result(pod(), { floorSeconds: 3 })).slice(8), ["--floor", "3s"]);
  });
});

describe("the kubelet's sleep instead", () => {
  const sleepOf = ({ spec }: Result): unknown => spec.containers[0]?.lifecycle?.preStop;
  const cases: readonly (readonly [string, Fields, Partial<InjectionSettings>, Partial<ClusterFacts>])[] = [
    ["asked for", {}, { carrier: "none" }, {}],
    ["on the host's network", { hostNetwork: true }, {}, {}],
    ["nodes of two kinds", {}, {}, { architectures: ["amd64", "arm64"] }],
    ["a processor without a binary", { nodeSelector: { "kubernetes.io/arch": "s390x" } }, {}, {}],
    ["a volume of our name", { volumes: [{ name: "lameduck-carrier", emptyDir: {} }] }, {}, {}],
    [
      "something at our place",
      { containers: [{ ...web, volumeMounts: [{ name: "x", mountPath: "/lameduck/y" }] }] },
      {},
      {},
    ],
    [
      "an image volume on an old cluster",
      {},
      { carrier: "image-volume", carrierImage: "x" },
      { version: { major: 1, minor: 34 } },
    ],
    [
      "an image volume on an unknown one",
      {},
      { carrier: "image-volume", carrierImage: "x" },
      { version: undefined },
    ],
  ];
  for (const [what, spec, settings, known] of cases)
    it(what, () => {
      const made = result(pod(spec), settings, known);
      assert.deepEqual(sleepOf(made), { sleep: { seconds: 10 } });
      assert.equal(made.spec.terminationGracePeriodSeconds, 40);
    });

  it("is never longer than the senders need, and never shorter than the floor", () => {
    assert.deepEqual(sleepOf(result(pod(), { carrier: "none", capSeconds: 60 })), { sleep: { seconds: 10 } });
    assert.deepEqual(sleepOf(result(pod(), { carrier: "none", capSeconds: 4 })), { sleep: { seconds: 4 } });
    assert.deepEqual(sleepOf(result(pod(), { carrier: "none", floorSeconds: 20 })), {
      sleep: { seconds: 20 },
    });
  });
});

describe("carriers", () => {
  const keyOf = ({ spec }: Result): unknown =>
    (spec.volumes?.[0]?.["configMap"] as { items: { key: string }[] } | undefined)?.items[0]?.key;

  it("have the binary of the node's processor", () => {
    assert.equal(keyOf(result(pod())), "lameduck-init-amd64");
    assert.equal(keyOf(result(pod(), {}, { architectures: ["arm64"] })), "lameduck-init-arm64");
    assert.equal(keyOf(result(pod(), { architecture: "arm64" })), "lameduck-init-arm64");
    const selects = pod({ nodeSelector: { "kubernetes.io/arch": "arm64" } });
    assert.equal(keyOf(result(selects, {}, { architectures: ["amd64", "arm64"] })), "lameduck-init-arm64");
  });

  it("an image is a volume, or is copied by an init container that may do nothing else", () => {
    const image = { carrierImage: "registry.example/lameduck:0.1.0" };
    const mounted = result(pod(), { carrier: "image-volume", ...image });
    assert.deepEqual(mounted.spec.volumes?.[0]?.["image"], {
      reference: image.carrierImage,
      pullPolicy: "IfNotPresent",
    });
    const copied = result(pod({ initContainers: [{ name: "first" }] }), {
      carrier: "init-container",
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

describe("sidecars", () => {
  it("follow the app by its file", () => {
    const both = result(pod({ containers: [web, { name: "linkerd-proxy" }] }));
    assert.deepEqual(commandOf(both).slice(-2), ["--ready-file", "/lameduck-order/0"]);
    assert.equal(commandOf(both, 1).at(-1), "--wait-for=/lameduck-order/0");
    assert.deepEqual(both.spec.volumes?.[1], { name: "lameduck-order", emptyDir: { medium: "Memory" } });
  });

  it("wait for the first eight containers that hold, wherever they stand, and say whom they leave out", () => {
    const apps = (count: number): Fields[] =>
      Array.from({ length: count }, (_, index) => ({ ...web, name: `app-${index}` }));
    const proxies = ["istio-proxy", "linkerd-proxy"].map((name) => ({ name }));
    const seven = injected(pod({ containers: [...proxies, ...apps(7)] }));
    assert.deepEqual(seven.warnings, []);
    const command = commandOf(result(pod({ containers: [...proxies, ...apps(7)] })), 0);
    assert.equal(command.filter((word) => word.startsWith("--wait-for=")).length, 7);
    assert.equal(command.at(-1), "--wait-for=/lameduck-order/8");
    const ten = pod({ containers: [...apps(10), ...proxies] });
    assert.match(injected(ten).warnings.join(), /first 8 .* not for app-8, app-9$/);
    const words = commandOf(result(ten), 11);
    assert.equal(words.filter((word) => word.startsWith("--wait-for=")).length, 8);
  });

  it("alone are the app", () => {
    const gateway = result(pod({ containers: [{ name: "istio-proxy", ports: [{ containerPort: 8080 }] }] }));
    assert.equal(gateway.spec.volumes?.length, 1);
    assert.equal(commandOf(gateway).length, 8);
  });

  it("native ones are the kubelet's to order", () => {
    const native = pod({ initContainers: [{ name: "istio-proxy", restartPolicy: "Always" }] });
    assert.ok(codes(injected(native)).includes("native-sidecar"));
    assert.deepEqual(
      result(native).spec.initContainers,
      native["spec"] && (native["spec"] as Fields)["initContainers"],
    );
  });
});

describe("Node apps", () => {
  const settings = { instrumentNode: true };
  const node = { ...web, command: ["node", "server.js"] };
  const options = (made: Result): string | undefined => told(made)["NODE_OPTIONS"];

  it("get the library and no hook", () => {
    const made = result(pod({ containers: [node] }), settings);
    assert.equal(made.spec.containers[0]?.lifecycle, undefined);
    assert.match(options(made) ?? "", /^--import=data:.*file:\/\/\/lameduck\/lameduck-register\.cjs/);
    assert.equal(told(made)["LAMEDUCK_CAP"], "25s");
    assert.equal(told(made)["LAMEDUCK_PRESTOP"], "0s");
  });

  it("keep their own options", () => {
    const made = result(
      pod({ containers: [{ ...node, env: [{ name: "NODE_OPTIONS", value: "--max-old-space-size=99" }] }] }),
      settings,
    );
    assert.match(options(made) ?? "", /^--max-old-space-size=99 --import=/);
  });

  it("are held by the hook where their options cannot be seen", () => {
    const unseen: readonly Fields[] = [
      { envFrom: [{ configMapRef: { name: "x" } }] },
      { env: [{ name: "NODE_OPTIONS", valueFrom: {} }] },
    ];
    for (const fields of unseen)
      assert.equal(commandOf(result(pod({ containers: [{ ...node, ...fields }] }), settings))[1], "wait");
    assert.ok(
      "sleep" in
        (result(pod({ containers: [node] }), { ...settings, carrier: "none" }).spec.containers[0]?.lifecycle
          ?.preStop ?? {}),
    );
  });
});

describe("what a container is told", () => {
  const toldBy = (given: unknown): unknown[] =>
    injected(given).patch.flatMap(({ path, value }) => (path.includes("/env") ? [value].flat() : []));

  it("is no time that a Lameduck in it would end at", () => {
    const year = pod({ terminationGracePeriodSeconds: 31_536_000 });
    assert.deepEqual(toldBy(year), [
      { name: "LAMEDUCK_GRACE_PERIOD", value: "2592000s" },
      { name: "LAMEDUCK_PRESTOP", value: "25s" },
    ]);
    assert.ok(JSON.stringify(injected(year).patch).includes('"--grace","2592000s"'));
  });

  it("is no hook that takes the whole grace period", () => {
    const own = (seconds: number): unknown => ({
      ...web,
      lifecycle: { preStop: { sleep: { seconds } } },
    });
    const given = (seconds: number): unknown =>
      pod({
        terminationGracePeriodSeconds: 30,
        containers: [
          own(seconds),
          { ...web, name: "node", env: [{ name: "LAMEDUCK_POLICY", value: "quiet" }] },
        ],
      });
    assert.equal(
      toldBy(given(30)).some(
        (one) => JSON.stringify(one).includes("30s") && JSON.stringify(one).includes("PRESTOP"),
      ),
      false,
    );
    assert.ok(
      toldBy(given(29)).some((one) => JSON.stringify(one).includes('"LAMEDUCK_PRESTOP","value":"29s"')),
    );
  });
});

describe("the init container", () => {
  const byImage = { carrier: "init-container", carrierImage: "registry.example/lameduck:1" } as const;
  const initOf = (given: unknown): Fields[] =>
    injected(given, byImage).patch.flatMap(({ path, value }) =>
      path.startsWith("/spec/initContainers") ? ([value].flat() as Fields[]) : [],
    );

  it("leaves the pod's class Guaranteed, and passes a quota of limits", () => {
    const [{ resources } = {}] = initOf(pod());
    const { requests, limits } = resources as Record<string, Fields>;
    assert.deepEqual(requests, limits);
    assert.deepEqual(Object.keys(limits ?? {}).sort(), ["cpu", "memory"]);
  });

  it("is not added where its name is taken: the pod would be refused", () => {
    for (const taken of [
      pod({ initContainers: [{ name: "lameduck-carrier" }] }),
      pod({ containers: [web, { name: "lameduck-carrier" }] }),
    ]) {
      assert.deepEqual(initOf(taken), []);
      assert.ok(injected(taken, byImage).reasons.some(({ code }) => code === "sleep-instead"));
    }
  });
});

describe("a block device at our place", () => {
  it("gives the pod a sleep, as a mount there does: the pod would be refused", () => {
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
  it("counts as none, and is told", () => {
    const { patch, warnings } = injected(pod({ terminationGracePeriodSeconds: -5 }));
    assert.match(warnings.join(), /terminationGracePeriodSeconds is -5; 30 s are assumed/);
    assert.deepEqual(patch, injected(pod({ terminationGracePeriodSeconds: 30 })).patch);
    assert.deepEqual(injected(pod({ terminationGracePeriodSeconds: 30 })).warnings, []);
  });
});

describe("a reserve below what lameduck-init keeps by itself", () => {
  it("makes no hook that lameduck-init refuses", () => {
    const { patch } = injected(pod(), { capSeconds: 40, reserveSeconds: 1 });
    const command = /"--grace","(\d+)s","--prestop","0s","--cap","(\d+)s"/.exec(JSON.stringify(patch)) ?? [];
    const [grace, cap] = command.slice(1).map(Number);
    assert.equal(parseConfig({ grace: `${grace}s`, cap: `${cap}s` }).cap, 36_000);
  });
});

describe("a container that joins an injected pod", () => {
  it("gets no second mount at one place: the pod would be refused", () => {
    const joined = { name: "late", volumeMounts: [{ name: "own", mountPath: "/lameduck" }] };
    const { patch } = injected(
      pod({ containers: [joined] }, { annotations: { "lameduck.dev/injected": "0.1.0" } }),
    );
    assert.ok(patch.length > 0);
    assert.ok(patch.every(({ path }) => !path.includes("volumeMounts")));
  });
});

describe("hostile pods", () => {
  it("take as long as their size, whatever is in them", () => {
    const hostile = `${"@".repeat(100_000)}\n`;
    const half = Array.from({ length: 10_000 }, (_, index) => ({ name: `c${index}` }));
    const given = [
      pod({ containers: [{ ...web, image: hostile }] }),
      pod({ containers: [...half, ...half.map((one) => ({ ...one, image: "envoy" }))] }),
    ];
    const plain = pod({
      containers: [...half, ...half.map((one) => ({ ...one, image: "registry.example/web" }))],
    });
    const secondsOf = (one: unknown): number => {
      const began = process.cpuUsage();
      injected(one);
      return process.cpuUsage(began).user;
    };
    const usual = Math.max(secondsOf(plain), secondsOf(plain));
    for (const one of given) assert.ok(secondsOf(one) < 8 * usual);
  });
});
