import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { looksLikeProduction } from "../src/consent.ts";
import { program, run, start } from "./running.ts";
import { testThatEachIsTold, type Mistake } from "./told.ts";

const folder = mkdtempSync(join(tmpdir(), "lameduck-cli-rollout-"));
after(() => rmSync(folder, { recursive: true }));

function kubeconfig(server: string, user = "{}"): string {
  const path = join(folder, `config-${Math.random()}`);
  const cluster = `{ name: c, cluster: { server: "${server}" } }`;
  const context = "{ name: dev, context: { cluster: c, user: u, namespace: shop } }";
  writeFileSync(
    path,
    `{ current-context: dev, clusters: [${cluster}], contexts: [${context}], users: [{ name: u, user: ${user} }] }`,
  );
  return path;
}

const nowhere = kubeconfig("http://127.0.0.1:1");
const restart = ["rollout", "deployment/web", "--restart"];
const mistakes: Mistake[] = [
  [
    "no kubeconfig",
    [...restart, "--kubeconfig", join(folder, "none")],
    /none: no such file or directory \[LAMEDUCK_NO_KUBECONFIG\]/,
  ],
  [
    "no such context",
    [...restart, "--kubeconfig", nowhere, "--context", "prod"],
    /no context "prod"; there is "dev" \[LAMEDUCK_NO_SUCH_CONTEXT\]/,
  ],
  [
    "an API server that does not answer",
    [...restart, "--kubeconfig", nowhere],
    /ECONNREFUSED 127\.0\.0\.1:1 \[LAMEDUCK_API_UNREACHABLE\]/,
    4,
  ],
  ["no target", ["rollout", "web", "--restart"], /"web": is not KIND\/NAME \[LAMEDUCK_BAD_TARGET\]/],
  ["nothing to do", ["rollout", "deployment/web"], /say what is to happen.*\[LAMEDUCK_BAD_OPTION\]/],
  [
    "two things at once",
    [...restart, "--scale", "3"],
    /--scale: cannot be given with --restart.*\[LAMEDUCK_BAD_OPTION\]/,
  ],
  ["pods of a restart", [...restart, "--pods", "2"], /--pods: goes with --delete and --evict only/],
  ["no URL", [...restart, "--url", "shop"], /"shop" is not a URL \[LAMEDUCK_BAD_URL\]/],
  [
    "two loads",
    [...restart, "--url", "http://127.0.0.1/", "--requests", "k6.json"],
    /--requests: cannot be given with --url/,
  ],
  [
    "fewer requests than URLs",
    [...restart, "--url", "a=http://x/", "--url", "b=http://y/", "--requests-max", "1"],
    /--requests-max: 1 is less than one request for each --url \(2\).*\[LAMEDUCK_BAD_OPTION\]/,
  ],
  ...["dev/../kube-system", "dev?x=", ""].map((name): Mistake => [
    `namespace "${name}"`,
    [...restart, "--kubeconfig", nowhere, "-n", name],
    /namespace ".*": cannot be one.*\[LAMEDUCK_BAD_TARGET\]/,
  ]),
  [
    "node that cannot be one",
    ["rollout", "deployment/web", "--kubeconfig", nowhere, "--drain", "node; rm"],
    /--drain: "node; rm" cannot be the name of a node.*\[LAMEDUCK_BAD_OPTION\]/,
  ],
  [
    "two outputs into one file",
    [
      ...restart,
      "--kubeconfig",
      nowhere,
      "--json",
      join(folder, "x"),
      "--out",
      `junit=${join(folder, ".", "x")}`,
    ],
    /--out: .*x is written by --json, too.*\[LAMEDUCK_BAD_OPTION\]/,
  ],
  [
    "a load in the cluster to nowhere",
    [...restart, "--in-cluster", "1"],
    /\[LAMEDUCK_IN_CLUSTER_BAD_OPTION\]/,
  ],
  [
    "an image that is none",
    [...restart, "--url", "http://a/", "--in-cluster", "1", "--image", "NODE:24"],
    /--image: "NODE:24" is no reference of an image.*\[LAMEDUCK_BAD_OPTION\]/,
  ],
  ["headers of no load", [...restart, "-H", "A: b"], /--header: goes with --url only/],
  [
    "a header that is none",
    [...restart, "--url", "http://a/", "--header", "nonsense"],
    /--header: one is not NAME: VALUE \[LAMEDUCK_BAD_LOAD\]/,
  ],
  [
    "a body that is not there",
    [...restart, "--url", "http://a/", "--method", "POST", "--body", `@${join(folder, "none")}`],
    /--body .*none: no such file or directory \[LAMEDUCK_BAD_OPTION\]/,
  ],
  [
    "no proof and a proof",
    [...restart, "--url", "https://a/", "--insecure", "--ca-file", "ca.pem"],
    /--ca-file: cannot be given with --insecure/,
  ],
  ["a time that is none", [...restart, "--timeout", "soon"], /--timeout.*\[LAMEDUCK_BAD_DURATION\]/],
  ["output into no folder", [...restart, "--json", join(folder, "none", "a")], /\[LAMEDUCK_CANNOT_WRITE\]/],
];

testThatEachIsTold(mistakes);

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("lameduck rollout says that its credentials are refused, with the API server's words", async (t) => {
  const body = { kind: "Status", reason: "Unauthorized", message: "Unauthorized", code: 401 };
  const server = await serve(t, (_, response) => response.writeHead(401).end(JSON.stringify(body)));
  const { code, err } = await run([...restart, "--kubeconfig", kubeconfig(server, "{ token: old }")]);
  assert.match(err, /Unauthorized \[LAMEDUCK_CREDENTIALS_FAILED\]/);
  assert.equal(code, 4, err);
});

test("lameduck rollout says that an answer did not come from an API server", async (t) => {
  const server = await serve(t, (_, response) => response.end("<html>Welcome</html>"));
  const { code, err } = await run([...restart, "--kubeconfig", kubeconfig(server)]);
  assert.match(err, /is this an API server\? \[LAMEDUCK_API_REFUSED\]/);
  assert.equal(code, 4, err);
});

test("a user without rights is told every right that is missing, and --dry-run prints the Role", async (t) => {
  const answer = JSON.stringify({ status: { allowed: false } });
  const server = await serve(t, (request, response) => {
    request.resume();
    response.writeHead(request.url?.includes("selfsubjectaccessreviews") ? 201 : 403).end(answer);
  });
  const config = kubeconfig(server);
  const refused = await run([...restart, "--kubeconfig", config]);
  assert.match(
    refused.err,
    /not allowed: get deployments\.apps "web" in namespace shop; .*patch deployments\.apps "web"/,
  );
  assert.doesNotMatch(refused.err, /endpointslices/, "what goes without is not demanded");
  assert.equal(refused.code, 4);
  const { code, out } = await run([...restart, "--kubeconfig", config, "--dry-run"]);
  assert.equal(code, 4);
  assert.match(out, /^kind: Role$/m);
  assert.match(out, /^ {2}namespace: shop$/m);
});

/** Allows everything, and has one Deployment. */
function cluster(t: TestContext, minor = "36"): Promise<string> {
  const containers = [{ name: "web", readinessProbe: {} }];
  const deployment = {
    metadata: { name: "web", uid: "u", generation: 1 },
    spec: { replicas: 2, selector: { matchLabels: { app: "web" } }, template: { spec: { containers } } },
  };
  return serve(t, (request, response) => {
    request.resume();
    const { url = "" } = request;
    const answer = url.includes("selfsubjectaccessreviews")
      ? { status: { allowed: true } }
      : url.endsWith("/deployments/web")
        ? deployment
        : { metadata: {}, items: [], major: "1", minor };
    response.writeHead(200).end(JSON.stringify(answer));
  });
}

test("lameduck rollout calls no URL before the user has agreed, and shows no value of a header", async (t) => {
  let called = 0;
  const url = await serve(t, (_, response) => {
    called++;
    response.end();
  });
  const config = kubeconfig(await cluster(t));
  const headers = join(folder, "headers");
  writeFileSync(headers, "X-Key: hush\r\nX-Other: hush\n");
  const args = [
    ...restart,
    "--kubeconfig",
    config,
    "--url",
    url,
    "-H",
    "Authorization: Bearer hush",
    "-H",
    `@${headers}`,
  ];
  const dry = await run([...args, "--dry-run"]);
  assert.equal(dry.code, 0, dry.err);
  assert.match(dry.err, /requests\/s \(GET, header authorization, @.*headers\)/);
  assert.match(dry.err, /nothing was changed, and no URL was called/);
  const unasked = await run(args);
  assert.match(unasked.err, /\[LAMEDUCK_NOT_CONFIRMED\]/);
  assert.equal(called, 0);
  assert.doesNotMatch(dry.err + dry.out + unasked.err, /hush/);
});

test("lameduck rollout refuses a cluster that is too old by its version", async (t) => {
  const url = ["--url", "http://web.shop.svc/", "--in-cluster", "1"];
  for (const [minor, more, code, says] of [
    ["20", [], 4, /Kubernetes 1\.20; lameduck rollout needs 1\.21 or newer \[LAMEDUCK_CLUSTER_TOO_OLD\]/],
    ["21+", [], 0, /dry run/],
    ["28+", url, 4, /Kubernetes 1\.28; --in-cluster needs 1\.29 or newer/],
    ["29", url, 0, /dry run/],
    ["", [], 0, /note: the cluster's version could not be read/],
  ] as const) {
    const config = kubeconfig(await cluster(t, minor));
    const { code: ended, err } = await run([...restart, "--kubeconfig", config, "--dry-run", ...more]);
    assert.match(err, says);
    assert.equal(ended, code, err);
  }
});

test("a load in the cluster that carries headers is a Secret, and needs the rights for Secrets", async (t) => {
  const config = kubeconfig(await cluster(t));
  const args = [
    ...restart,
    "--kubeconfig",
    config,
    "--url",
    "http://web.shop.svc/",
    "--in-cluster",
    "1",
    "--dry-run",
  ];
  assert.match((await run(args)).out, /- configmaps\n\s+verbs:\n\s+- create\n\s+- get\n\s+- delete/);
  const { out } = await run([...args, "-H", "A: b"]);
  assert.match(out, /- secrets\n\s+verbs:\n\s+- create\n\s+- get\n\s+- delete/);
  assert.doesNotMatch(out, /configmaps/);
});

test("lameduck rollout --help exits with 0", async () => {
  assert.equal((await run(["rollout", "--help"])).code, 0);
});

/** Answers the preflight, except for what its path matches: that is begun, and nothing more. */
async function stalling(t: TestContext, what: RegExp): Promise<{ config: string; stalled: Promise<void> }> {
  const { promise: stalled, resolve } = Promise.withResolvers<void>();
  const server = await serve(t, (request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" });
    if (what.test(request.url ?? "")) {
      response.write('{"metadata":{');
      resolve();
    } else response.end(answerTo(request.url ?? ""));
  });
  return { config: kubeconfig(server), stalled };
}

function answerTo(path: string): string {
  const metadata = { name: "web", uid: "u", resourceVersion: "1", generation: 1 };
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "app" }] } };
  const spec = { replicas: 1, selector: { matchLabels: { app: "web" } }, template };
  if (path.includes("selfsubjectaccessreviews")) return JSON.stringify({ status: { allowed: true } });
  return JSON.stringify(path.endsWith("/deployments/web") ? { metadata, spec } : { metadata, items: [] });
}

for (const [what, path] of [
  ["about rights", /selfsubjectaccessreviews/],
  ["about the target", /deployments\/web$/],
  ["about Services", /services$/],
  ["about pods", /pods/],
] as const)
  test(`SIGTERM ends a preflight whose answer ${what} stalls`, async (t) => {
    const { config, stalled } = await stalling(t, path);
    const { child, ended } = start([...restart, "--kubeconfig", config]);
    await stalled;
    child.kill("SIGTERM");
    const { code, err } = await ended;
    assert.match(err, /interrupted; nothing was changed/);
    assert.equal(code, 143, err);
  });

test("SIGTERM ends the first question to a URL that answers byte by byte", async (t) => {
  const { config } = await stalling(t, /nothing/);
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const url = await serve(t, (request) => {
    const dripping = setInterval(() => request.socket.write("H"), 50);
    request.socket.on("close", () => clearInterval(dripping)).on("error", () => undefined);
    request.socket.write("HTTP/1.1 200 OK\r\nx-slow: ");
    resolve();
  });
  const { child, ended } = start([...restart, "--kubeconfig", config, "--yes", "--url", url]);
  await asked;
  const began = Date.now();
  child.kill("SIGTERM");
  const { code, err } = await ended;
  assert.equal(code, 143, err);
  assert.ok(Date.now() - began < 8_000, "at once, not when the answer is given up");
});

/** The command at a terminal of its own, and what is typed there when it asks. */
async function typed(config: string, text: string): Promise<{ code: number | null; out: string }> {
  const line = [process.execPath, program, ...restart, "--kubeconfig", config]
    .map((word) => `'${word}'`)
    .join(" ");
  const child = spawn("script", ["-qefc", line, "/dev/null"], { stdio: ["pipe", "pipe", "inherit"] });
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const asked = out.includes("to go on:");
    out += chunk;
    if (!asked && out.includes("to go on:")) child.stdin.write(text);
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, out };
}

const noTerminal =
  spawnSync("script", ["-qefc", "true", "/dev/null"]).status === 0 ? false : "needs script(1) of util-linux";

test(
  "Ctrl-C, Ctrl-D and any word but yes at the question of lameduck rollout change nothing",
  { skip: noTerminal },
  async (t) => {
    const { config } = await stalling(t, /nothing/);
    const interrupted = await typed(config, "\u0003");
    assert.match(interrupted.out, /interrupted; nothing was changed/);
    assert.equal(interrupted.code, 130, interrupted.out);
    for (const text of ["\u0004", "no\r"]) {
      const { code, out } = await typed(config, text);
      assert.match(out, /nothing was done: not "yes" \[LAMEDUCK_NOT_CONFIRMED\]/);
      assert.equal(code, 2, out);
    }
  },
);

test("a name that looks like production is recognised, and one that only resembles it is not", () => {
  for (const name of ["prod", "eu-prod-1", "PRODUCTION", "shop_live"])
    assert.equal(looksLikeProduction([name]), name);
  for (const name of ["product-test", "delivery", "staging", "kind-dev"])
    assert.equal(looksLikeProduction([name]), undefined);
});
