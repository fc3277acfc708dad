import assert from "node:assert/strict";
import { test } from "node:test";
import { ManifestError, readManifest } from "../src/index.ts";

const deployment = `# a shop
apiVersion: v1
kind: Service
metadata: { name: shop }
spec:
  selector: { app: shop }
  ports:
    - { name: http, port: 80, targetPort: web }
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  namespace: market
spec:
  replicas: 3
  minReadySeconds: 2
  strategy:
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  selector: { matchLabels: { app: shop } }
  template:
    metadata: { labels: { app: shop } }
    spec:
      terminationGracePeriodSeconds: 20
      initContainers:
        - name: once
          command: [sh, -c, "true"]
        - name: proxy
          restartPolicy: Always
          command: [proxy]
          ports: [{ containerPort: 9000 }]
          lifecycle: { preStop: { exec: { command: [proxy-drain] } } }
      containers:
        - name: app
          image: shop:1
          command: [node, server.js]
          args: ["--name", "$(NAME)"]
          ports: [{ name: web, containerPort: 8080 }]
          env:
            - name: NAME
              valueFrom: { fieldRef: { fieldPath: metadata.name } }
            - { name: LEVEL, value: "3" }
          readinessProbe:
            httpGet: { path: /ready, port: web }
            periodSeconds: 2
          livenessProbe:
            tcpSocket: { port: 8080 }
            terminationGracePeriodSeconds: 60
          lifecycle:
            preStop: { sleep: { seconds: 5 } }
            postStart: { httpGet: { port: web, path: /started } }
          volumeMounts: [{ name: cache, mountPath: /tmp }]
      volumes: [{ name: cache, emptyDir: {} }]
`;

test("a Deployment is read with its Service", () => {
  const { kind, template, replicas, strategy, minReadySeconds, warnings } = readManifest(
    deployment,
    "shop.yaml",
  );
  assert.equal(kind, "Deployment");
  assert.equal(replicas, 3);
  assert.equal(minReadySeconds, 2);
  assert.deepEqual(strategy, { kind: "rolling", maxSurge: 1, maxUnavailable: 0 });
  assert.deepEqual(warnings, []);
  assert.equal(template.name, "shop");
  assert.equal(template.namespace, "market");
  assert.equal(template.graceSeconds, 20);
  assert.equal(template.port, 8080, "the Service's port 80 leads to the port called web");
  assert.deepEqual(template.emptyDirs, ["cache"]);
  assert.deepEqual(
    template.initContainers.map(({ name, sidecar }) => [name, sidecar]),
    [
      ["once", false],
      ["proxy", true],
    ],
  );
  const [app] = template.containers;
  assert.deepEqual(app?.command, ["node", "server.js", "--name", "$(NAME)"]);
  assert.deepEqual(app?.env, [
    { name: "NAME", field: "metadata.name" },
    { name: "LEVEL", value: "3" },
  ]);
  assert.deepEqual(app?.preStop, { kind: "sleep", seconds: 5 });
  assert.equal(app?.stopSignal, undefined);
  assert.deepEqual(app?.postStart, {
    kind: "http",
    scheme: "HTTP",
    port: 8080,
    path: "/started",
    headers: [],
  });
  assert.deepEqual(app?.readiness, {
    handler: { kind: "http", scheme: "HTTP", port: 8080, path: "/ready", headers: [] },
    initialDelaySeconds: 0,
    periodSeconds: 2,
    timeoutSeconds: 1,
    successThreshold: 1,
    failureThreshold: 3,
  });
  assert.equal(app?.liveness?.graceSeconds, 60);
  assert.equal(app?.liveness?.periodSeconds, 10, "the API's default");
  assert.deepEqual(app?.mounts, [{ volume: "cache", path: "/tmp" }]);
});

const minimal = (container: string, rest = ""): string =>
  `kind: Pod\nmetadata: { name: one }\nspec:\n  containers:\n    - name: app\n      ports: [{ containerPort: 80 }]\n      ${container}\n${rest}`;

test("the defaults of a manifest are those of Kubernetes", () => {
  const { kind, replicas, template, strategy, progressDeadlineSeconds } = readManifest(
    minimal("command: [a]"),
    "p",
  );
  assert.deepEqual([kind, replicas, progressDeadlineSeconds], ["Pod", 1, 600]);
  assert.deepEqual(strategy, { kind: "rolling", maxSurge: "25%", maxUnavailable: "25%" });
  assert.deepEqual(
    [template.graceSeconds, template.namespace, template.restartPolicy],
    [30, "default", "Always"],
  );
});

test("a StatefulSet is read from a List", () => {
  const text = `kind: List
items:
  - kind: StatefulSet
    metadata: { name: db }
    spec:
      replicas: 3
      podManagementPolicy: Parallel
      updateStrategy: { rollingUpdate: { partition: 1 } }
      template: { spec: { containers: [{ name: db, command: [db], ports: [{ containerPort: 5432 }] }] } }
`;
  const { kind, strategy, template } = readManifest(text, "db.yaml");
  assert.equal(kind, "StatefulSet");
  assert.deepEqual(strategy, { kind: "ordered", partition: 1, startTogether: true });
  assert.equal(template.port, 5432);
});

test("a ConfigMap of the same file feeds the environment, and what this machine cannot provide is left out with a warning", () => {
  const text = `kind: ConfigMap
metadata: { name: settings }
data: { MODE: "50$ $(X)" }
---
${minimal(
  `command: [a]
      envFrom: [{ configMapRef: { name: settings }, prefix: P_ }, { secretRef: { name: keys } }]
      env: [{ name: MODE, valueFrom: { configMapKeyRef: { name: settings, key: MODE } } }]
      volumeMounts: [{ name: data, mountPath: /data }]
      readinesProbe: {}`,
  "  volumes: [{ name: data, persistentVolumeClaim: { claimName: c } }]\n  hostNetwork: true\n  readinessGates: [{ conditionType: a/lb }]\n",
)}`;
  const { template, warnings } = readManifest(text, "p.yaml");
  assert.deepEqual(template.containers[0]?.env, [
    { name: "P_MODE", value: "50$$ $$(X)" },
    { name: "MODE", value: "50$$ $$(X)" },
  ]);
  assert.equal(warnings.length, 5, warnings.join("\n"));
  assert.match(warnings.join("\n"), /^p\.yaml:\d+:\d+: spec\.containers\[0\]\.readinesProbe: is left out$/m);
  assert.match(warnings.join("\n"), /\/data is left as it is/);
  assert.match(warnings.join("\n"), /hostNetwork/);
  assert.match(warnings.join("\n"), /readinessGates: is left out: whoever sets these gates is not here/);
  assert.match(warnings.join("\n"), /envFrom\[1\]/);
});

test("volumes and variables of ConfigMaps and Secrets of the same file are read, with paths, modes and parts", () => {
  const text = `kind: ConfigMap
metadata: { name: settings }
data: { a.conf: "a" }
binaryData: { b: Yg== }
---
kind: Secret
metadata: { name: keys }
data: { one: MQ==, two: MQ==, nul: AA== }
stringData: { two: "2" }
---
${minimal(
  `command: [a]
      envFrom: [{ secretRef: { name: keys } }]
      env: [{ name: ONE, valueFrom: { secretKeyRef: { name: keys, key: one } } }]
      volumeMounts:
        - { name: settings, mountPath: /etc/a.conf, subPath: a.conf }
        - { name: keys, mountPath: /keys/ }
        - { name: both, mountPath: /both }
        - { name: both, mountPath: /part, subPath: deep/ }
        - { name: token, mountPath: /token }`,
  `  securityContext: { fsGroup: 5 }
  volumes:
    - { name: settings, configMap: { name: settings } }
    - { name: keys, secret: { secretName: keys, defaultMode: 0400, items: [{ key: two, path: x/y, mode: 0o700 }] } }
    - { name: both, projected: { defaultMode: 256, sources: [{ secret: { name: keys, items: [{ key: one, path: deep/one }] } }, { configMap: { name: gone, optional: true } }] } }
    - { name: token, projected: { sources: [{ serviceAccountToken: { path: t } }] } }
`,
)}`;
  const { template, warnings } = readManifest(text, "p.yaml");
  const [container] = template.containers;
  assert.deepEqual(container?.env, [
    { name: "one", value: "1" },
    { name: "two", value: "2" },
    { name: "ONE", value: "1" },
  ]);
  assert.deepEqual(
    template.filled?.map(({ name, files }) => [
      name,
      ...files.map((one) => `${one.path} ${one.bytes.toString()} ${one.mode.toString(8)}`),
    ]),
    [
      ["settings", "b b 644", "a.conf a 644"],
      ["keys", "x/y 2 744"],
      ["both", "deep/one 1 444"],
    ],
  );
  assert.deepEqual(container?.mounts, [
    { volume: "settings", path: "/etc/a.conf", subPath: "a.conf", isFile: true },
    { volume: "keys", path: "/keys" },
    { volume: "both", path: "/both" },
    { volume: "both", path: "/part", subPath: "deep", isFile: false },
  ]);
  assert.equal(warnings.length, 1, warnings.join("\n"));
  assert.match(warnings[0] ?? "", /\/token is left as it is/);
});

const configMap = (fields: string): string =>
  `kind: ConfigMap\nmetadata: { name: c }\ndata: { ${fields} }\n---\n`;
const filledBy = (more: string, mount = ""): string =>
  minimal(
    `command: [a]\n      volumeMounts: [{ name: v, mountPath: /v${mount} }]`,
    `  volumes: [{ name: v, configMap: { name: c${more} } }]\n`,
  );

const mistakes: readonly (readonly [what: string, text: string, code: string, message: RegExp])[] = [
  ["not YAML", "kind: Pod\nx: [\n", "LAMEDUCK_MANIFEST_NOT_YAML", /^m\.yaml:[23]:\d+: /],
  ["a field twice", "kind: Pod\nkind: Pod\n", "LAMEDUCK_MANIFEST_NOT_YAML", /^m\.yaml:2:1: /],
  ["nothing", "# only a comment\n", "LAMEDUCK_MANIFEST_EMPTY", /^m\.yaml: /],
  ["no mapping", "hello\n", "LAMEDUCK_MANIFEST_INVALID", /^m\.yaml:1:1: document: must be a mapping/],
  [
    "no workload",
    "kind: Service\n",
    "LAMEDUCK_MANIFEST_UNKNOWN_KIND",
    /^m\.yaml:1:7: kind: Service: there is no workload/,
  ],
  ["a DaemonSet", "kind: DaemonSet\n", "LAMEDUCK_MANIFEST_UNKNOWN_KIND", /DaemonSet cannot be rolled/],
  [
    "two workloads",
    `${minimal("command: [a]")}---\n${minimal("command: [a]")}`,
    "LAMEDUCK_MANIFEST_SEVERAL_WORKLOADS",
    /^m\.yaml:9:7: /,
  ],
  [
    "no container",
    "kind: Pod\nmetadata: { name: x }\nspec: {}\n",
    "LAMEDUCK_MANIFEST_NO_CONTAINER",
    /^m\.yaml:3:\d+: spec\.containers: /,
  ],
  [
    "neither image nor command",
    minimal("args: [a]"),
    "LAMEDUCK_MANIFEST_NO_COMMAND",
    /^m\.yaml:5:7: .*no image and no command/,
  ],
  [
    "a number as env value",
    minimal("command: [a]\n      env: [{ name: A, value: 1 }]"),
    "LAMEDUCK_MANIFEST_INVALID",
    /value: must be a text, not number/,
  ],
  [
    "an unknown downward field",
    minimal("command: [a]\n      env: [{ name: A, valueFrom: { fieldRef: { fieldPath: spec.x } } }]"),
    "LAMEDUCK_MANIFEST_INVALID",
    /"spec\.x" is no field/,
  ],
  [
    "an unknown port name",
    minimal("command: [a]\n      readinessProbe: { tcpSocket: { port: web } }"),
    "LAMEDUCK_MANIFEST_INVALID",
    /no container port is called "web"/,
  ],
  [
    "two handlers",
    minimal("command: [a]\n      readinessProbe: { tcpSocket: { port: 80 }, exec: { command: [a] } }"),
    "LAMEDUCK_MANIFEST_INVALID",
    /exactly one of/,
  ],
  [
    "a gRPC probe",
    minimal("command: [a]\n      readinessProbe: { grpc: { port: 80 } }"),
    "LAMEDUCK_MANIFEST_UNSUPPORTED",
    /grpc/,
  ],
  [
    "a sleep above the grace period",
    minimal("command: [a]\n      lifecycle: { preStop: { sleep: { seconds: 31 } } }"),
    "LAMEDUCK_MANIFEST_INVALID",
    /not be above terminationGracePeriodSeconds, which is 30/,
  ],
  [
    "a stop signal that does not exist",
    minimal("command: [a]\n      lifecycle: { stopSignal: SIGSTOPPED }"),
    "LAMEDUCK_MANIFEST_INVALID",
    /"SIGSTOPPED" is no signal/,
  ],
  [
    "a volume that is not there",
    minimal("command: [a]\n      volumeMounts: [{ name: v, mountPath: /v }]"),
    "LAMEDUCK_MANIFEST_INVALID",
    /there is no volume "v"/,
  ],
  [
    "a volume whose name leads out of its folder",
    minimal("command: [a]", "  volumes: [{ name: ../../etc, emptyDir: {} }]\n"),
    "LAMEDUCK_MANIFEST_INVALID",
    /"\.\.\/\.\.\/etc" is no name/,
  ],
  [
    "a workload whose name leads out of its folder",
    minimal("command: [a]").replace("name: one", "name: ../one"),
    "LAMEDUCK_MANIFEST_INVALID",
    /^m\.yaml:2:\d+: metadata\.name: "\.\.\/one" is no name/,
  ],
  [
    "a key that leads out of its volume",
    configMap("../x: a") + filledBy(""),
    "LAMEDUCK_MANIFEST_INVALID",
    /\.\.\/x leads out of the volume/,
  ],
  [
    "a path that leads out of its volume",
    configMap("x: a") + filledBy(", items: [{ key: x, path: /etc/x }]"),
    "LAMEDUCK_MANIFEST_INVALID",
    /\/etc\/x leads out/,
  ],
  [
    "a key that a ConfigMap has not",
    configMap("x: a") + filledBy(", items: [{ key: y, path: y }]"),
    "LAMEDUCK_MANIFEST_INVALID",
    /ConfigMap has no key "y"/,
  ],
  [
    "a part that a volume has not",
    configMap("x: a") + filledBy("", ", subPath: y"),
    "LAMEDUCK_MANIFEST_INVALID",
    /its volume has no file y/,
  ],
  [
    "a negative grace period",
    minimal("command: [a]", "  terminationGracePeriodSeconds: -1\n"),
    "LAMEDUCK_MANIFEST_INVALID",
    /^m\.yaml:8:34: /,
  ],
  [
    "a hook of an ordinary init container",
    minimal(
      "command: [a]",
      "  initContainers: [{ name: i, command: [a], lifecycle: { preStop: { sleep: { seconds: 1 } } } }]\n",
    ),
    "LAMEDUCK_MANIFEST_INVALID",
    /only for init containers with restartPolicy: Always/,
  ],
  [
    "no port",
    "kind: Pod\nmetadata: { name: x }\nspec: { containers: [{ name: a, command: [a] }] }\n",
    "LAMEDUCK_MANIFEST_NO_PORT",
    /^m\.yaml:1:1: /,
  ],
  [
    "surge and unavailable zero",
    deployment.replace("maxSurge: 1", "maxSurge: 0%"),
    "LAMEDUCK_MANIFEST_INVALID",
    /must not both be zero/,
  ],
];

for (const [what, text, code, message] of mistakes)
  test(`a manifest with ${what} is refused with ${code} and the place`, () => {
    assert.throws(
      () => readManifest(text, "m.yaml"),
      (error) => {
        assert.ok(error instanceof ManifestError, String(error));
        assert.equal(error.code, code, error.message);
        assert.match(error.message, message);
        assert.ok(error.remedy.length > 0);
        assert.doesNotMatch(error.message, /\n/);
        return true;
      },
    );
  });
