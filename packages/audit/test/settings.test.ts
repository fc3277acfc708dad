import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readStream } from "@lameduck/manifests";
import { holdOf } from "../src/facts/hold.ts";
import { serverKeepAliveOf } from "../src/facts/keep-alive.ts";
import {
  delaySetting,
  drainSetting,
  stopSignalOf,
  imagesOf,
  type Container,
  type Workload,
} from "../src/index.ts";
import { inventoryOf } from "../src/model/inventory.ts";
import { isAuditedKind } from "../src/model/object.ts";

/** A Deployment whose container has these fields beside its name, with other documents beside it. */
function workloadWith(container: string, { pod = "", more = "", dockerfile = "" } = {}): Workload {
  const text = `kind: Deployment
apiVersion: apps/v1
metadata: { name: web }
spec: { template: { ${pod.startsWith("metadata") ? pod : "metadata: {}"}, spec: { ${pod.startsWith("metadata") ? "" : pod} containers: [{ name: web, ${container} }] } } }
---
${more}`;
  const { objects, failures } = readStream(text, "any.yaml", isAuditedKind);
  assert.deepEqual(failures, []);
  const files = dockerfile === "" ? [] : [{ image: undefined, file: "Dockerfile", text: dockerfile }];
  const inventory = inventoryOf(objects, imagesOf(files));
  assert.deepEqual(inventory.failures, []);
  const [workload] = inventory.workloads;
  assert.ok(workload);
  return workload;
}

function firstOf({ containers: [first] }: Workload): Container {
  assert.ok(first);
  return first;
}

const config = `kind: ConfigMap
apiVersion: v1
metadata: { name: config }
data: { GUNICORN_CMD_ARGS: "--graceful-timeout 50", T: "45" }`;

describe("how long the app finishes its requests, seconds", () => {
  const cases: readonly (readonly [container: string, drain: number | undefined])[] = [
    ["command: [gunicorn, app]", 30],
    ["command: [gunicorn, app, --graceful-timeout, '50']", 50],
    ["command: [gunicorn, app, --graceful-timeout=50]", 50],
    ["command: [gunicorn, app, --graceful-timeout, '1800']", 1_800],
    ["command: [uvicorn, app, --timeout-graceful-shutdown, '3600']", 3_600],
    ["command: [envoy, --drain-time-s, '1200']", 1_200],
    ["image: web, env: [{ name: DOTNET_SHUTDOWNTIMEOUTSECONDS, value: '1200' }]", 1_200],
    ["image: web, env: [{ name: SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_PHASE, value: '500' }]", 0.5],
    ["image: web, env: [{ name: SHUTDOWN_TIMEOUT, value: '20000' }]", 20],
    ["command: [tini, --, gunicorn, app]", 30],
    ["command: [python, -m, gunicorn, app]", 30],
    ["command: [sh, -c, 'exec gunicorn app --graceful-timeout 50']", 50],
    ["command: [sh, -c, 'exec gunicorn app --graceful-timeout $T'], env: [{ name: T, value: '50' }]", 50],
    ["command: [gunicorn, app, --graceful-timeout, $(T)], env: [{ name: T, value: '50' }]", 50],
    [
      "command: [gunicorn, app, --graceful-timeout, $(T)], env: [{ name: T, valueFrom: { secretKeyRef: { name: a, key: b } } }]",
      undefined,
    ],
    [
      "command: [gunicorn, app, --graceful-timeout, $(T)], env: [{ name: T, valueFrom: { configMapKeyRef: { name: config, key: T } } }]",
      45,
    ],
    [
      "command: [gunicorn, app], env: [{ name: GUNICORN_CMD_ARGS, value: \"--bind ':80' --graceful-timeout=50\" }]",
      50,
    ],
    [
      "command: [gunicorn, app, --graceful-timeout, '20'], env: [{ name: GUNICORN_CMD_ARGS, value: '--graceful-timeout 50' }]",
      20,
    ],
    ["command: [gunicorn, app], envFrom: [{ configMapRef: { name: config } }]", 50],
    ["command: [gunicorn, app], envFrom: [{ configMapRef: { name: other } }]", undefined],
    ["command: [gunicorn, app, --graceful-timeout, '20'], envFrom: [{ secretRef: { name: other } }]", 20],
    ["command: [gunicorn, app, -c, conf.py]", undefined],
    ["image: web, env: [{ name: GUNICORN_CMD_ARGS, value: '--timeout 60 --workers 4' }]", 30],
    ["command: [hypercorn, app]", 3],
    ["command: [uvicorn, app]", undefined],
    ["command: [uvicorn, app], env: [{ name: UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN, value: '12' }]", 12],
    ["command: [java, -Dspring.lifecycle.timeout-per-shutdown-phase=25s, -jar, a.jar]", 25],
    [
      "image: web, env: [{ name: JAVA_TOOL_OPTIONS, value: '-Xmx1g -Dspring.lifecycle.timeout-per-shutdown-phase=25s' }]",
      25,
    ],
    [
      "command: [sh, -c, 'exec java $JAVA_OPTS -jar a.jar'], env: [{ name: JAVA_OPTS, value: '-Dspring.lifecycle.timeout-per-shutdown-phase=25s' }]",
      25,
    ],
    [
      'image: web, env: [{ name: SPRING_APPLICATION_JSON, value: \'{"spring":{"lifecycle":{"timeout-per-shutdown-phase":"25s"}}}\' }]',
      25,
    ],
    ["image: web, env: [{ name: SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_PHASE, value: PT25S }]", 25],
    ["image: web, env: [{ name: SERVER_SHUTDOWN, value: graceful }]", 30],
    ["image: web, env: [{ name: SERVER_SHUTDOWN, value: immediate }]", undefined],
    ["image: web, env: [{ name: HostOptions__ShutdownTimeout, value: '00:00:45' }]", 45],
    ["image: web, env: [{ name: DOTNET_SHUTDOWNTIMEOUTSECONDS, value: '45' }]", 45],
  ];
  for (const [container, drain] of cases)
    test(`the app finishes its requests for ${drain ?? "an unknown number of"} s: ${container}`, () => {
      const own = firstOf(workloadWith(container, { more: config }));
      assert.equal(drainSetting(own)?.amount.value, drain);
    });

  test("the time to finish requests follows from an image's own variables and command, too", () => {
    const dockerfile = `FROM python:3\nENV GUNICORN_CMD_ARGS="--graceful-timeout 50"\nCMD ["gunicorn", "app"]`;
    const own = firstOf(workloadWith("image: web", { dockerfile }));
    assert.equal(drainSetting(own)?.amount.value, 50);
    assert.equal(drainSetting(own)?.amount.origin.kind, "assumption");
  });
});

describe("how long the app goes on serving of its own, seconds", () => {
  const hook = "lifecycle: { preStop: { exec: { command: [sh, -c, 'sleep $PRESTOP_SLEEP'] } } }";
  const cases: readonly (readonly [
    container: string,
    delay: number | undefined,
    parts: readonly number[],
    kind: string,
  ])[] = [
    ["env: [{ name: SHUTDOWN_DELAY, value: 20s }]", 20, [20], "unknown"],
    ["args: [--shutdown-delay-duration=20s]", 20, [20], "fixed"],
    [`env: [{ name: PRESTOP_SLEEP, value: '20' }], ${hook}`, undefined, [20], "fixed"],
    [
      `env: [{ name: PRESTOP_SLEEP, value: '20' }], ${hook.replace("$PRE", "$(PRE").replace("SLEEP'", "SLEEP)'")}`,
      undefined,
      [20],
      "fixed",
    ],
    [
      `env: [{ name: PRESTOP_SLEEP, value: '20' }, { name: SHUTDOWN_DELAY, value: '5' }], ${hook}`,
      5,
      [20, 5],
      "unknown",
    ],
    [
      `env: [{ name: PRESTOP_SLEEP, valueFrom: { secretKeyRef: { name: a, key: b } } }], ${hook}`,
      undefined,
      [],
      "unknown",
    ],
    ["env: [{ name: SHUTDOWN_DELAY, valueFrom: { secretKeyRef: { name: a, key: b } } }]", 0, [], "unknown"],
    [
      `envFrom: [{ configMapRef: { name: config } }], ${hook.replace("PRESTOP_SLEEP", "T")}`,
      undefined,
      [45],
      "fixed",
    ],
    [
      `envFrom: [{ secretRef: { name: a } }], ${hook.replace("$PRESTOP_SLEEP", "${X:-15}")}`,
      undefined,
      [],
      "unknown",
    ],
  ];
  for (const [container, delay, parts, kind] of cases)
    test(`the app goes on serving by itself for ${delay ?? "an unknown number of"} s: ${container}`, () => {
      const workload = workloadWith(`image: web, ${container}`, { more: config });
      const own = firstOf(workload);
      assert.equal(delaySetting(own)?.amount.value, delay);
      const hold = holdOf(workload, own, {});
      assert.deepEqual([hold.parts.map(({ value }) => value), hold.kind], [parts, kind]);
    });
});

describe("how long the server keeps idle connections, seconds", () => {
  const cases: readonly (readonly [container: string, keepAlive: number | undefined])[] = [
    ["command: [gunicorn, app]", 0],
    ["command: [gunicorn, app, --keep-alive, '75']", 0],
    ["command: [gunicorn, app, -k, gthread]", 2],
    ["command: [gunicorn, app, --threads, '4', --keep-alive=75]", 75],
    ["command: [gunicorn, app], env: [{ name: GUNICORN_CMD_ARGS, value: '-k gevent --keep-alive 65' }]", 65],
    ["command: [gunicorn, app, -k, uvicorn.workers.UvicornWorker]", 2],
    ["command: [gunicorn, app, -c, conf.py]", undefined],
    ["command: [gunicorn, app], envFrom: [{ secretRef: { name: a } }]", undefined],
    [
      "image: web, env: [{ name: GUNICORN_CMD_ARGS, value: \"--worker-class gthread --access-logformat='%(h)s' --forwarded-allow-ips *\" }]",
      2,
    ],
    ["command: [uvicorn, app]", 5],
    ["command: [uvicorn, app], env: [{ name: UVICORN_TIMEOUT_KEEP_ALIVE, value: '75' }]", 75],
    [
      "command: [uvicorn, app], env: [{ name: UVICORN_TIMEOUT_KEEP_ALIVE, valueFrom: { secretKeyRef: { name: a, key: b } } }]",
      undefined,
    ],
    ["image: web, env: [{ name: SERVER_TOMCAT_KEEP_ALIVE_TIMEOUT, value: 75s }]", 75],
    ["command: [node, node_modules/.bin/next, start, --keepAliveTimeout, '75000']", 75],
    ["command: [node, node_modules/.bin/next, start, --keepAliveTimeout, '900']", 0.9],
    ["command: [uvicorn, app, --timeout-keep-alive, '1200']", 1_200],
    ["image: web, env: [{ name: SERVER_TOMCAT_KEEP_ALIVE_TIMEOUT, value: '900' }]", 0.9],
    ["command: [node, a]", undefined],
  ];
  for (const [container, keepAlive] of cases)
    test(`the server keeps idle connections for ${keepAlive ?? "an unknown number of"} s: ${container}`, () => {
      const workload = workloadWith(container);
      assert.equal(serverKeepAliveOf(workload, firstOf(workload), {})?.value, keepAlive);
    });
});

describe("how long a mesh's proxy goes on after SIGTERM, seconds", () => {
  const istio = "image: 'docker.io/istio/proxyv2:1.22.0'";
  const annotated = (text: string): string => `metadata: { annotations: { ${text} } }`;
  const cases: readonly (readonly [container: string, pod: string, seconds: number, kind: string])[] = [
    [istio, "", 5, "fixed"],
    [istio, annotated("proxy.istio.io/config: 'terminationDrainDuration: 30s'"), 30, "fixed"],
    [istio, annotated(`proxy.istio.io/config: '{"terminationDrainDuration":"30s"}'`), 30, "fixed"],
    [istio, annotated("proxy.istio.io/config: '{ ] not YAML'"), 5, "fixed"],
    [`${istio}, env: [{ name: PROXY_CONFIG, value: '{"terminationDrainDuration":"40s"}' }]`, "", 40, "fixed"],
    [`${istio}, env: [{ name: TERMINATION_DRAIN_DURATION_SECONDS, value: '20' }]`, "", 20, "fixed"],
    [`${istio}, env: [{ name: TERMINATION_DRAIN_DURATION_SECONDS, value: '1200' }]`, "", 1_200, "fixed"],
    [`${istio}, env: [{ name: EXIT_ON_ZERO_ACTIVE_CONNECTIONS, value: 'true' }]`, "", 5, "evidence"],
    [
      istio,
      annotated(
        "proxy.istio.io/config: '{ proxyMetadata: { EXIT_ON_ZERO_ACTIVE_CONNECTIONS: \"true\", MINIMUM_DRAIN_DURATION: 15s } }'",
      ),
      15,
      "evidence",
    ],
    [`${istio}, lifecycle: { preStop: { exec: { command: [sleep, '10'] } } }`, "", 15, "fixed"],
    ["image: cr.l5d.io/linkerd/proxy, env: []", "", 0, "fixed"],
    ["image: web", annotated("config.linkerd.io/shutdown-grace-period: 60s"), 0, "fixed"],
  ];
  for (const [container, pod, seconds, kind] of cases)
    test(`the proxy of a mesh goes on for ${seconds} s after SIGTERM: ${container} ${pod}`, () => {
      const workload = workloadWith(container, { pod });
      const hold = holdOf(workload, firstOf(workload), {});
      assert.deepEqual([hold.least, hold.kind], [seconds, kind]);
    });

  for (const drain of ["20", "soon"])
    test(`the time of Istio's proxy is assumed where its setting is not read: ${drain}`, () => {
      const pod = annotated(`proxy.istio.io/config: 'terminationDrainDuration: ${drain}'`);
      const workload = workloadWith(istio, { pod });
      const origin = holdOf(workload, firstOf(workload), {}).parts[0]?.origin;
      assert.ok(origin?.kind === "assumption" && origin.because.includes(drain), JSON.stringify(origin));
    });

  test("the proxy of Linkerd waits before its exit, and the app does not", () => {
    const pod = annotated("config.alpha.linkerd.io/proxy-wait-before-exit-seconds: '20'");
    const workload = workloadWith("image: web }, { name: linkerd-proxy, image: cr.l5d.io/linkerd/proxy", {
      pod,
    });
    assert.deepEqual(
      workload.containers.map((one) => holdOf(workload, one, {}).least),
      [0, 20],
    );
  });
});

describe("the stop signal that a Dockerfile leaves", () => {
  const cases: readonly (readonly [dockerfile: string, signal: string | undefined, server?: string])[] = [
    ["FROM nginx:1.27-alpine", "SIGQUIT", "nginx"],
    ["FROM docker.io/library/nginx@sha256:0123", "SIGQUIT", "nginx"],
    ["FROM nginx\nSTOPSIGNAL SIGTERM", "SIGTERM", "nginx"],
    ["FROM nginx\nSTOPSIGNAL 3", "SIGQUIT", "nginx"],
    [
      "FROM --platform=$BUILDPLATFORM node:22 AS build\nRUN x\nFROM nginx\nCOPY --from=build /a /b",
      "SIGQUIT",
      "nginx",
    ],
    ['FROM nginx AS base\nFROM Base\nCMD ["nginx"]', "SIGQUIT", "nginx"],
    ["ARG VERSION=1.27\nFROM nginx:${VERSION}", "SIGQUIT", "nginx"],
    ["ARG IMAGE=nginx\nFROM $IMAGE", "SIGQUIT", "nginx"],
    ['ARG IMAGE\nFROM $IMAGE\nCMD ["nginx"]', undefined, "nginx"],
    ['ARG REGISTRY\nFROM ${REGISTRY}/nginx\nCMD ["nginx"]', undefined, "nginx"],
    ['FROM registry.example/library/nginx\nCMD ["nginx"]', undefined, "nginx"],
    ["FROM php:8.3-fpm-alpine", "SIGQUIT", "php-fpm"],
    ["FROM php:8.3-apache", "SIGWINCH", "apache2-foreground"],
    ['ARG TAG\nFROM php:$TAG\nCMD ["php-fpm"]', undefined, "php-fpm"],
    ["FROM httpd:2.4", "SIGWINCH", "httpd-foreground"],
    ["FROM postgres:17", "SIGINT", "postgres"],
    ["FROM haproxy:3.2", "SIGUSR1", "haproxy"],
    ['FROM alpine\nRUN apk add nginx\nCMD ["nginx"]', "SIGTERM", "nginx"],
    ['FROM debian:bookworm\nRUN <<EOF\nSTOPSIGNAL SIGINT\nEOF\nCMD ["nginx"]', "SIGTERM", "nginx"],
    ['FROM debian\nRUN a \\\n # STOPSIGNAL\n b\nCMD ["nginx"]', "SIGTERM", "nginx"],
    ["FROM node:22-alpine\nCMD node server.js", "SIGTERM", "node"],
    ['FROM nginx\nENTRYPOINT ["/entrypoint.sh"]', "SIGQUIT"],
  ];
  for (const [dockerfile, signal, server] of cases)
    test(`the stop signal of a Dockerfile is ${signal ?? "unknown"}: ${JSON.stringify(dockerfile)}`, () => {
      const own = firstOf(workloadWith("image: registry.example/web", { dockerfile }));
      assert.deepEqual([stopSignalOf(own, 34)?.signal, own.served?.argv[0]], [signal, server]);
    });
});
