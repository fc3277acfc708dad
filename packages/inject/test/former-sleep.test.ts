import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterFacts } from "../src/index.ts";
import type { InjectionSettings } from "../src/policy/settings.ts";
import { codes, commandOf, injected, pod, result, told, web, type Fields, type Result } from "./injected.ts";

const asked: Partial<InjectionSettings> = { existingSleep: "replace" };
const sh = (script: string): Fields => ({ exec: { command: ["sh", "-c", script] } });
const hooked = (preStop: Fields, fields: Fields = {}): Fields => ({
  ...web,
  ...fields,
  lifecycle: { ...(fields["lifecycle"] as Fields | undefined), preStop },
});
const sleeping = (seconds: number, fields: Fields = {}): Fields => hooked({ sleep: { seconds } }, fields);
const flag = (command: readonly string[], name: string): string | undefined =>
  command.includes(name) ? command[command.indexOf(name) + 1] : undefined;
const replaced = (spec: Fields, known: Partial<ClusterFacts> = {}): Result => result(pod(spec), asked, known);
const why = (spec: Fields, known: Partial<ClusterFacts> = {}): string =>
  injected(pod(spec), asked, known)
    .reasons.filter(({ code }) => code === "hook-kept")
    .map(({ text }) => text)
    .join("; ");

describe("a hold in place of a sleep", () => {
  it("a sleep stays unless somebody asks, and it is said that it could be replaced", () => {
    const { patch, reasons } = injected(pod({ containers: [sleeping(15)] }));
    assert.deepEqual(patch, []);
    assert.match(reasons[0]?.text ?? "", /only sleeps, 15 s; existingSleep: replace would/);
  });

  it("a pod's annotation asks, and wins over a policy", () => {
    const annotated = (value: string): unknown =>
      injected(
        pod({ containers: [sleeping(15)] }, { annotations: { "lameduck.dev/existing-sleep": value } }),
        {
          existingSleep: value === "replace" ? "replace" : "keep",
        },
      ).patch.length;
    assert.equal(annotated("keep"), 0);
    assert.notEqual(annotated("replace"), 0);
  });

  // The grace period keeps what was left behind the sleep, and grows only by what the hold may take longer.
  const times: [sleep: number, before: number | undefined, cap: string, grace: number | undefined][] = [
    [5, undefined, "25s", 50],
    [15, 30, "25s", 40],
    [15, 45, "25s", 55],
    [30, 60, "30s", 60],
    [60, 90, "60s", 90],
    [25, 28, "25s", 30],
    [30, 30, "30s", 35],
    [120, 30, "30s", 35],
  ];
  for (const [sleep, before, cap, grace] of times)
    it(`a sleep of ${sleep} s in a grace period of ${before ?? 30} s becomes a hold of ${cap}`, () => {
      const whole = replaced({
        containers: [hooked(sh(`sleep ${sleep}`))],
        ...(before === undefined ? {} : { terminationGracePeriodSeconds: before }),
      });
      assert.equal(flag(commandOf(whole), "--cap"), cap);
      assert.equal(whole.spec.terminationGracePeriodSeconds, grace);
      assert.equal(flag(commandOf(whole), "--grace"), `${grace}s`);
      assert.equal(told(whole)["LAMEDUCK_PRESTOP"], cap);
      assert.equal(whole.metadata.annotations["lameduck.dev/former-sleep"], `${sleep}s`);
      assert.deepEqual(injected(whole, asked).patch, [], "a second time changes nothing");
    });

  it("a cap of the settings is no shorter than the sleep, and a longer one counts", () => {
    const capOf = (capSeconds: number): unknown =>
      flag(commandOf(result(pod({ containers: [sleeping(30)] }), { ...asked, capSeconds })), "--cap");
    assert.deepEqual([capOf(10), capOf(40)], ["30s", "40s"]);
  });

  it("a pod whose successor waits for its end is held no longer than it slept", () => {
    const port = { ports: [{ containerPort: 80, hostPort: 80 }] };
    const claim = { volumes: [{ name: "d", persistentVolumeClaim: { claimName: "d" } }] };
    for (const [spec, known] of [
      [{ containers: [sleeping(10, port)] }, {}],
      [{ containers: [sleeping(10)], ...claim }, {}],
      [{ containers: [sleeping(10)], volumes: [{ name: "d", gcePersistentDisk: { pdName: "d" } }] }, {}],
      [{ containers: [sleeping(10)] }, { workloadKind: "StatefulSet" }],
    ] as const) {
      const whole = replaced(spec, known);
      assert.equal(flag(commandOf(whole), "--cap"), "10s");
      assert.equal(whole.spec.terminationGracePeriodSeconds, undefined);
    }
    const owned = pod({ containers: [sleeping(10)] }, { ownerReferences: [{ kind: "StatefulSet" }] });
    assert.equal(flag(commandOf(result(owned, asked)), "--cap"), "10s");
    const read = { volumes: [{ name: "d", persistentVolumeClaim: { claimName: "d", readOnly: true } }] };
    assert.equal(flag(commandOf(replaced({ containers: [sleeping(10)], ...read })), "--cap"), "25s");
  });

  it("a postStart hook stays beside it", () => {
    const postStart = { exec: { command: ["x"] } };
    const whole = replaced({ containers: [sleeping(5, { lifecycle: { postStart } })] });
    assert.deepEqual(Object.keys(whole.spec.containers[0]?.lifecycle ?? {}), ["postStart", "preStop"]);
  });
});

describe("the signal behind a sleep", () => {
  const signals: [preStop: Fields, container: Fields, then: string | undefined][] = [
    [sh("sleep 15; kill -QUIT 1"), { image: "registry.example/nginx" }, "QUIT"],
    [sh("sleep 15; kill -QUIT 1"), { image: "nginx:1.29" }, undefined],
    [sh("sleep 15; nginx -s quit"), { image: "registry.example/nginx" }, "QUIT"],
    [sh("sleep 15; nginx -s quit"), { image: "nginx", lifecycle: { stopSignal: "SIGTERM" } }, "QUIT"],
    [sh("sleep 15; nginx -s quit"), { image: "x", command: ["nginx", "-g", "daemon off;"] }, "QUIT"],
    [sh("sleep 15; kill -USR1 1"), { image: "registry.example/haproxy" }, "USR1"],
    [sh("sleep 15; kill -USR1 1"), { image: "haproxy:3" }, undefined],
    [sh("sleep 15; killall -USR1 haproxy"), { image: "registry.example/haproxy" }, "USR1"],
    [sh("sleep 15; kill -QUIT $(cat /run/nginx.pid)"), { image: "registry.example/nginx" }, "QUIT"],
    [sh("sleep 15; kill -3 1"), { image: "registry.example/php:8.3-fpm-alpine" }, "QUIT"],
    [sh("sleep 15; kill -QUIT 1"), { image: "php:8.3-fpm" }, undefined],
    [sh("sleep 15; apachectl -k graceful-stop"), { image: "registry.example/httpd" }, "WINCH"],
    [sh("sleep 15; kill -TERM 1"), {}, undefined],
    // A sleep alone leaves the signal to what is known of the software, as everywhere.
    [sh("sleep 15"), { image: "registry.example/haproxy" }, "USR1"],
  ];
  for (const [preStop, container, then] of signals)
    it(`the signal behind a sleep is kept, ${then ?? "the kubelet's"}: ${JSON.stringify([preStop["exec"], container])}`, () => {
      const command = commandOf(replaced({ containers: [hooked(preStop, container)] }));
      assert.equal(flag(command, "--cap"), "25s");
      assert.equal(flag(command, "--then"), then);
    });

  const kept: [preStop: Fields, container: Fields, spec?: Fields][] = [
    [sh("sleep 15; kill -QUIT 1"), {}],
    [sh("sleep 15; kill -QUIT 1"), { image: "eclipse-temurin:21" }],
    [sh("sleep 15; kill -HUP 1"), { image: "nginx" }],
    [sh("sleep 15; kill -TERM 1"), { image: "nginx" }],
    [sh("sleep 15; kill 1"), { image: "registry.example/haproxy" }],
    [sh("sleep 15; nginx -s quit"), {}],
    [sh("sleep 15; pkill -QUIT nginx"), { image: "haproxy" }],
    [sh("sleep 15; nginx -s quit"), { image: "nginx", command: ["supervisord"] }],
    [sh("sleep 15; kill -QUIT 1"), { image: "nginx" }, { shareProcessNamespace: true }],
    [sh("sleep 15; kill -TERM 1"), { lifecycle: { stopSignal: "SIGINT" } }],
  ];
  for (const [preStop, container, spec = {}] of kept)
    it(`a hook stays whose signal is not known to be graceful: ${JSON.stringify([preStop["exec"], container, spec])}`, () => {
      const text = why({ containers: [hooked(preStop, container)], ...spec });
      assert.match(
        text,
        /^its preStop hook is kept: .*; @lameduck\/node or lameduck-init as PID 1 would hold$/s,
      );
    });
});

describe("hooks that stay", () => {
  const kept: [why: RegExp, spec: Fields, known?: Partial<ClusterFacts>][] = [
    [/runs curl/, { containers: [hooked(sh("curl localhost/drain; sleep 15"))] }],
    [/runs rm/, { containers: [hooked(sh("rm /tmp/ready && sleep 15"))] }],
    [/runs no command/, { containers: [hooked({ httpGet: { port: 1 } })] }],
    [/runs no command/, { containers: [hooked({ exec: { command: ["sleep", 15] } })] }],
    [/not known/, { containers: [hooked(sh("sleep $WAIT"), { env: [{ name: "WAIT", valueFrom: {} }] })] }],
    [/not known/, { containers: [hooked(sh("sleep $WAIT"))] }],
    [/only lameduck-init .*hostNetwork/, { hostNetwork: true, containers: [sleeping(15)] }],
    [/only lameduck-init/, { containers: [sleeping(15, { volumeMounts: [{ mountPath: "/lameduck" }] })] }],
    [
      /goes with app/,
      { containers: [hooked(sh("stop.sh"), { name: "app" }), sleeping(40, { name: "istio-proxy" })] },
    ],
    [
      /goes with app/,
      {
        containers: [
          { ...web, name: "app", command: ["lameduck-init", "x"] },
          sleeping(40, { name: "envoy" }),
        ],
      },
    ],
  ];
  for (const [reason, spec, known] of kept)
    it(`a hook stays, ${reason}: ${JSON.stringify(spec).slice(0, 100)}`, () => {
      const { patch } = injected(pod(spec), asked, known);
      assert.ok(!JSON.stringify(patch).includes("preStop"), JSON.stringify(patch));
      assert.match(why(spec, known), reason);
    });

  it("the sleep of a sidecar that another webhook adds later stays: it could not wait for the app's hold", () => {
    const first = replaced({ containers: [sleeping(15)] });
    const containers = [...first.spec.containers, sleeping(20, { name: "istio-proxy" })];
    const later = injected({ ...first, spec: { ...first.spec, containers } }, asked);
    assert.deepEqual(
      later.reasons.filter(({ code }) => code === "hook-kept").map(({ container }) => container),
      ["istio-proxy"],
    );
    assert.ok(!JSON.stringify(later.patch).includes("preStop"));
  });

  it("the sleep of a container of a pod for Windows, or of one that is killed at once, stays", () => {
    const windows = pod({ containers: [sleeping(15)], nodeSelector: { "kubernetes.io/os": "windows" } });
    assert.deepEqual(injected(windows, asked).patch, []);
    assert.deepEqual(
      injected(pod({ containers: [sleeping(15)], terminationGracePeriodSeconds: 0 }), asked).patch,
      [],
    );
  });

  it("what a stranger has written makes no long reason, and takes no long time", () => {
    const long = "x ".repeat(500_000);
    for (const command of [
      [long],
      ["sh", "-c", long],
      ["sh", "-c", "sleep", long],
      ["sleep", ...long.split(" ")],
    ]) {
      const text = why({ containers: [hooked({ exec: { command } })] });
      assert.ok(text.length < 300, `${text.length}`);
    }
  });

  it("a sleep of 0 seconds goes on saying no, in either form", () => {
    for (const preStop of [{ sleep: { seconds: 0 } }, { sleep: {} }, { exec: { command: ["sleep", "0"] } }]) {
      const found = injected(pod({ containers: [hooked(preStop)] }), asked);
      assert.deepEqual(found.patch, []);
      assert.ok(codes(found).includes("opted-out"));
    }
  });
});

describe("what is behind a front", () => {
  const php = { name: "php", image: "php:8-fpm", ports: [{ containerPort: 9000 }] };

  it("PHP-FPM behind nginx waits for nginx's hold, whichever of them had a sleep", () => {
    const nginx = { ...web, image: "nginx:1" };
    for (const containers of [
      [sleeping(30, nginx), php],
      [nginx, sleeping(30, php)],
      [sleeping(20, nginx), sleeping(30, php)],
    ]) {
      const whole = replaced({ containers, terminationGracePeriodSeconds: 60 });
      assert.equal(flag(commandOf(whole, 0), "--ready-file"), "/lameduck-order/0");
      assert.equal(commandOf(whole, 1).at(-1), "--wait-for=/lameduck-order/0");
      assert.equal(flag(commandOf(whole, 0), "--cap"), "30s");
      assert.equal(flag(commandOf(whole, 1), "--cap"), "30s");
    }
  });

  it("it waits for a front without sleeps as well, and gets its own signal", () => {
    const whole = result(
      pod({
        containers: [
          { ...web, image: "caddy:2" },
          { name: "app", image: "registry.example/php-fpm" },
        ],
      }),
    );
    assert.deepEqual(commandOf(whole, 1).slice(-3), ["--then", "QUIT", "--wait-for=/lameduck-order/0"]);
  });

  it("it asks the coordinator as it would alone, since requests may come to it past the front; a sidecar asks nobody", () => {
    const coordinator = { address: "http://c:8070", mode: "availability" } as const;
    const containers = [{ ...web, image: "nginx" }, php, { name: "istio-proxy" }];
    const whole = result(pod({ containers }), {}, { coordinator });
    assert.deepEqual(
      [0, 1, 2].map((index) => told(whole, index)["LAMEDUCK_COORDINATOR"]),
      ["http://c:8070", "http://c:8070", undefined],
    );
  });

  it("a front whose hook stays is no front: what is beside it holds by itself", () => {
    const front = hooked(sh("curl localhost/drain"), { image: "nginx" });
    const whole = replaced({ containers: [front, { name: "php", image: "php:8-fpm" }] });
    assert.ok(!commandOf(whole, 1).some((word) => word.startsWith("--wait-for")));
  });

  it("a sidecar whose sleep is replaced waits for the app's hook, also where Node apps get the library", () => {
    const node = { ...web, image: "node:24" };
    const whole = result(
      pod({ containers: [node, sleeping(20, { name: "istio-proxy", image: "proxyv2" })] }),
      {
        ...asked,
        instrumentNode: true,
      },
    );
    assert.equal(flag(commandOf(whole, 0), "--ready-file"), "/lameduck-order/0");
    assert.equal(commandOf(whole, 1).at(-1), "--wait-for=/lameduck-order/0");
  });
});
