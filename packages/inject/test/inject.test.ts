import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { podToInject, type ClusterFacts } from "../src/index.ts";
import type { InjectionSettings } from "../src/policy/settings.ts";
import type { ReasonCode } from "../src/injection.ts";
import { web, pod, injected, result, commandOf, told, codes, type Fields, type Result } from "./injected.ts";

describe("what a plain pod gets", () => {
  const whole = result(pod());

  it("a plain pod holds by lameduck-init, and keeps for its shutdown the time that it had", () => {
    const command = ["/lameduck/lameduck-init", "wait", "--grace", "55s", "--prestop", "0s", "--cap", "25s"];
    assert.deepEqual(commandOf(whole), command);
    assert.equal(whole.spec.terminationGracePeriodSeconds, 55);
    assert.deepEqual(told(whole), { LAMEDUCK_GRACE_PERIOD: "55s", LAMEDUCK_PRESTOP: "25s" });
    assert.equal(whole.metadata.annotations["lameduck.dev/injected"], "0.1.0");
  });

  it("a plain pod takes lameduck-init from a ConfigMap that may be missing", () => {
    const [volume] = whole.spec.volumes ?? [];
    const { optional, defaultMode, name } = (volume ?? {})["configMap"] as Fields;
    assert.deepEqual(
      { optional, defaultMode, name },
      { optional: true, defaultMode: 0o755, name: "lameduck-init" },
    );
    assert.deepEqual(whole.spec.containers[0]?.volumeMounts, [
      { name: "lameduck-init-volume", mountPath: "/lameduck", readOnly: true },
    ]);
  });

  it("a plain pod is the same after a second injection", () => {
    assert.deepEqual(injected(whole).patch, []);
    assert.deepEqual(codes(injected(whole)), ["already-injected", "nothing-to-do"]);
  });

  it("a second injection holds only the sidecar that another injector has added", () => {
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

for (const [spread, grace, settings, expected] of [
  ["90s", 30, {}, [121, 25]],
  ["90s", 300, {}, [325, 25]],
  ["90s", 30, { reserveSeconds: 20 }, [136, 25]],
  ["90s", 30, { maxGracePeriodSeconds: 100 }, [100, 4]],
  ["soon", 30, {}, [55, 25]],
] as const)
  it(`a spread of ${spread} beside a grace period of ${grace} s with ${JSON.stringify(settings)} gives ${expected.join(" s, and a hold of ")} s`, () => {
    const env = [{ name: "LAMEDUCK_SPREAD", value: spread }];
    const given = pod({ containers: [{ ...web, env }], terminationGracePeriodSeconds: grace });
    const { times } = injected(given, settings);
    assert.deepEqual([times?.grace, times?.hold], expected);
    if (grace === 30 && spread === "90s")
      assert.match(times?.because.grace ?? "", /90 s of them LAMEDUCK_SPREAD/);
  });

describe("who is left alone, and why", () => {
  const needing = (...matchExpressions: readonly object[]): object => ({
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
    },
  });
  const cases: readonly (readonly [
    ReasonCode,
    unknown,
    Partial<InjectionSettings>?,
    Partial<ClusterFacts>?,
  ])[] = [
    ["not-a-pod", undefined],
    ["not-a-pod", { spec: { containers: [] } }],
    ["not-a-pod", { spec: { containers: [web, 7] } }],
    ["too-many-containers", pod({ containers: Array.from({ length: 101 }, () => web) })],
    ["opted-out", pod({}, { annotations: { "lameduck.dev/inject": "false" } })],
    ["opted-out", pod({}, { labels: { "lameduck.dev/inject": "disabled" } })],
    ["opted-out", pod({}, { labels: { "lameduck.dev/inject": "false" } })],
    ["opted-out", pod(), { inject: false }],
    ["of-a-job", pod({}, { ownerReferences: [{ kind: "Job" }] })],
    ["ends-by-itself", pod({ activeDeadlineSeconds: 60 })],
    ["ends-by-itself", pod({ restartPolicy: "Never" })],
    ["static-pod", pod({}, { annotations: { "kubernetes.io/config.mirror": "x" } })],
    ["static-pod", pod({}, { annotations: { "kubernetes.io/config.source": "file" } })],
    ["windows", pod({ nodeSelector: { "kubernetes.io/os": "windows" } })],
    ["windows", pod({ os: { name: "windows" } })],
    ["windows", pod({ nodeSelector: { "beta.kubernetes.io/os": "windows" } })],
    ["windows", pod({ nodeSelector: { "cloud.google.com/gke-os-distribution": "windows_ltsc" } })],
    ["windows", pod({ nodeSelector: { "kubernetes.azure.com/os-sku": "Windows2022" } })],
    ["windows", pod({ nodeSelector: { "node.kubernetes.io/windows-build": "10.0.20348" } })],
    ["windows", pod({ affinity: needing({ key: "kubernetes.io/os", operator: "In", values: ["windows"] }) })],
    [
      "windows",
      pod({ affinity: needing({ key: "beta.kubernetes.io/os", operator: "NotIn", values: ["linux"] }) }),
    ],
    ["windows", pod({ tolerations: [{ key: "os", value: "windows", effect: "NoSchedule" }] })],
    ["windows", pod({ securityContext: { windowsOptions: { hostProcess: true } } })],
    ["windows", pod({ runtimeClassName: "windows-2022" })],
    ["windows", pod({ containers: [{ name: "web", image: "mcr.microsoft.com/windows/servercore/iis" }] })],
    ["windows", pod({ containers: [{ name: "web", image: "shop/web:1.2-nanoserver-ltsc2022" }] })],
    [
      "windows",
      pod({ containers: [{ name: "web", image: "w", command: ["powershell.exe", "-File", "a.ps1"] }] }),
    ],
    [
      "windows",
      pod({
        containers: [{ name: "web", image: "w", volumeMounts: [{ name: "v", mountPath: "C:\\data" }] }],
      }),
    ],
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
    ["no-init-volume", pod(), { initVolume: "none" }, { version: { major: 1, minor: 29 } }],
  ];
  for (const [code, given, settings, known] of cases)
    it(`a pod is left alone, ${code}: ${JSON.stringify(given)?.slice(0, 90)}`, () => {
      const { patch, reasons } = injected(given, settings, known);
      assert.deepEqual(patch, []);
      assert.ok(
        reasons.some((reason) => reason.code === code && reason.text !== ""),
        JSON.stringify(reasons),
      );
    });

  it("the reason of a hold names what leads to the pod, where that is known", () => {
    const reasonOf = (containers: readonly Fields[], exposedBy: ClusterFacts["exposedBy"]) =>
      injected(pod({ containers }), {}, { exposedBy }).reasons.find(({ code }) => code === "held-by-hook")
        ?.text;
    const bare = { name: "web", image: "w" };
    const service = ["Service web", "Ingress shop"];
    for (const [containers, exposedBy, expected] of [
      [[web], service, "Service web leads to its pod"],
      [[bare], service, "Service web leads to its pod"],
      [[bare, web], service, "it is no known sidecar"],
      [[web], undefined, "it declares ports"],
      [[web], [], "it declares ports"],
    ] as const)
      assert.ok(reasonOf(containers, exposedBy)?.endsWith(`; ${expected}`), reasonOf(containers, exposedBy));
  });

  it("a Job's pod that asks for the injection is injected", () => {
    const asks = pod(
      { restartPolicy: "OnFailure" },
      { ownerReferences: [{ kind: "Job" }], annotations: { "lameduck.dev/inject": "true" } },
    );
    assert.notDeepEqual(injected(asks).patch, []);
  });

  it("namespaces that are not labelled, the system's and our own are left alone", () => {
    const reason = (name: string, labels?: Record<string, string>): unknown => {
      const view = podToInject(pod(), { name, labels, ownNamespace: "lameduck-system" });
      return "code" in view ? view.code : undefined;
    };
    const enabled = { "lameduck.dev/inject": "enabled" };
    assert.equal(reason("shop", enabled), undefined);
    assert.equal(reason("shop"), "namespace-not-labelled");
    assert.equal(reason("shop", { "lameduck.dev/inject": "disabled" }), "namespace-not-labelled");
    assert.equal(reason("kube-system", enabled), "system-namespace");
    assert.equal(reason("lameduck-system", enabled), "system-namespace");
  });
});

describe("hooks and programs of the pod's own", () => {
  it("a container that brings Lameduck is told the grace period and nothing else", () => {
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

  it("the hook of a container stays where another container is held, and its time is told where it is known", () => {
    const sleeps = { name: "b", lifecycle: { preStop: { sleep: { seconds: 7 } } } };
    const asks = { name: "c", lifecycle: { preStop: { httpGet: { port: 1 } } } };
    const both = result(pod({ containers: [web, sleeps, asks] }));
    assert.deepEqual(both.spec.containers[1]?.lifecycle, sleeps.lifecycle);
    assert.equal(told(both, 1)["LAMEDUCK_PRESTOP"], "7s");
    assert.deepEqual(told(both, 2), { LAMEDUCK_GRACE_PERIOD: "55s" });
  });

  it("a postStart hook of the pod's own keeps its place beside ours", () => {
    const { spec } = result(
      pod({ containers: [{ ...web, lifecycle: { postStart: { exec: { command: ["x"] } } } }] }),
    );
    assert.deepEqual(Object.keys(spec.containers[0]?.lifecycle ?? {}), ["postStart", "preStop"]);
  });

  it("a variable that the pod's own container sets stays", () => {
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
    it(`a container gets the signal that its software understands, ${signal ?? "the kubelet's"}: ${JSON.stringify(fields)}`, () => {
      const command = commandOf(result(pod({ containers: [{ ...web, ...fields }] })));
      const at = command.indexOf("--then");
      assert.equal(at === -1 ? undefined : command[at + 1], signal);
    });
});

describe("sidecars", () => {
  it("sidecars follow the app by its file", () => {
    const both = result(pod({ containers: [web, { name: "linkerd-proxy" }] }));
    assert.deepEqual(commandOf(both).slice(-2), ["--ready-file", "/lameduck-order/0"]);
    assert.equal(commandOf(both, 1).at(-1), "--wait-for=/lameduck-order/0");
    assert.deepEqual(both.spec.volumes?.[1], { name: "lameduck-order", emptyDir: { medium: "Memory" } });
  });

  it("sidecars wait for the first eight containers that hold, wherever these stand, and a warning names the others", () => {
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

  it("sidecars without another container are the app", () => {
    const gateway = result(pod({ containers: [{ name: "istio-proxy", ports: [{ containerPort: 8080 }] }] }));
    assert.equal(gateway.spec.volumes?.length, 1);
    assert.equal(commandOf(gateway).length, 8);
  });

  it("native sidecars are left for the kubelet to order", () => {
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

  it("Node apps get the library and no hook", () => {
    const made = result(pod({ containers: [node] }), settings);
    assert.equal(made.spec.containers[0]?.lifecycle, undefined);
    assert.match(options(made) ?? "", /^--import=data:.*file:\/\/\/lameduck\/lameduck-register\.cjs/);
    assert.equal(told(made)["LAMEDUCK_CAP"], "25s");
    assert.equal(told(made)["LAMEDUCK_PRESTOP"], "0s");
  });

  it("Node apps keep their own options", () => {
    const made = result(
      pod({ containers: [{ ...node, env: [{ name: "NODE_OPTIONS", value: "--max-old-space-size=99" }] }] }),
      settings,
    );
    assert.match(options(made) ?? "", /^--max-old-space-size=99 --import=/);
  });

  it("Node apps keep as many characters of their own options as the policy would, which counts no units of UTF-16", () => {
    for (const [count, does] of [
      [4_096, "held-by-library"],
      [4_097, "held-by-hook"],
    ] as const) {
      const env = [{ name: "NODE_OPTIONS", value: "🦆".repeat(count) }];
      assert.ok(codes(injected(pod({ containers: [{ ...node, env }] }), settings)).includes(does), does);
    }
  });

  it("Node apps are held by the hook where their options cannot be seen", () => {
    const unseen: readonly Fields[] = [
      { envFrom: [{ configMapRef: { name: "x" } }] },
      { env: [{ name: "NODE_OPTIONS", valueFrom: {} }] },
    ];
    for (const fields of unseen)
      assert.equal(commandOf(result(pod({ containers: [{ ...node, ...fields }] }), settings))[1], "wait");
    assert.ok(
      "sleep" in
        (result(pod({ containers: [node] }), { ...settings, initVolume: "none" }).spec.containers[0]
          ?.lifecycle?.preStop ?? {}),
    );
  });
});
