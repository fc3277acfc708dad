import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { KubernetesClient, KubernetesError, type KubernetesErrorCode } from "@lameduck/kube";
import { type ConnectionOptions, clusterConnection } from "@lameduck/kube/kubeconfig";

const folder = mkdtempSync(join(tmpdir(), "lameduck-kubeconfig-"));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const two = file(
  "two",
  `
apiVersion: v1
kind: Config
current-context: staging
clusters:
  - { name: a, cluster: { server: "https://a.example:6443/prefix", certificate-authority-data: ${btoa("CA of a")} } }
  - { name: b, cluster: { server: "https://b.example", insecure-skip-tls-verify: true } }
contexts:
  - { name: staging, context: { cluster: a, user: ann, namespace: shop } }
  - { name: prod, context: { cluster: b, user: bob } }
  - { name: broken, context: { cluster: c, user: bob } }
users:
  - { name: ann, user: { client-certificate: ann.crt, client-key: ann.key } }
  - { name: bob, user: { token: secret } }
`,
);
file("ann.crt", "certificate of ann");
file("ann.key", "key of ann");

test("the current context of a kubeconfig is used, with the certificates beside the file", async () => {
  const connection = clusterConnection({ kubeconfig: two });
  assert.equal(connection.context, "staging");
  assert.equal(connection.server.href, "https://a.example:6443/prefix");
  assert.equal(connection.namespace, "shop");
  assert.equal(String(connection.ca), "CA of a");
  const { cert, key, expires } = await connection.credentials();
  assert.deepEqual([String(cert), String(key), expires], ["certificate of ann", "key of ann", Infinity]);
});

test("a context that is named is used, with its token and the default namespace", async () => {
  const connection = clusterConnection({ kubeconfig: two, context: "prod" });
  assert.deepEqual([connection.namespace, connection.insecure], ["default", true]);
  assert.equal((await connection.credentials()).authorization, "Bearer secret");
});

test("the first of several kubeconfig files that names a thing wins", () => {
  const first = file(
    "first",
    `{ current-context: prod, contexts: [{ name: prod, context: { cluster: a, namespace: mine } }] }`,
  );
  const env = { KUBECONFIG: [first, join(folder, "none"), two].join(delimiter) };
  const connection = clusterConnection({ env });
  assert.deepEqual([connection.context, connection.namespace], ["prod", "mine"]);
  assert.equal(connection.server.host, "a.example:6443");
});

test("an empty KUBECONFIG counts as not set", (t) => {
  const { HOME } = process.env;
  t.after(() => {
    process.env["HOME"] = HOME;
  });
  process.env["HOME"] = join(folder, "home");
  mkdirSync(join(folder, "home", ".kube"), { recursive: true });
  copyFileSync(two, join(folder, "home", ".kube", "config"));
  for (const KUBECONFIG of ["", delimiter])
    assert.equal(
      clusterConnection({ env: { KUBECONFIG } }).context,
      clusterConnection({ kubeconfig: two }).context,
    );
});

test("a user who impersonates another one says so in every request", async (t) => {
  const seen: unknown[] = [];
  const server = createServer((request, response) => {
    const {
      "impersonate-user": user,
      "impersonate-uid": uid,
      "impersonate-extra-a%2fb": extra,
    } = request.headers;
    const groups = request.headersDistinct["impersonate-group"];
    seen.push({ user, uid, groups, extra });
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const kubeconfig = file(
    "acting",
    `{ current-context: x, clusters: [{ name: c, cluster: { server: "${address}" } }],
       users: [{ name: u, user: { as: jane, as-uid: "7", as-groups: [dev], as-user-extra: { a/b: [c] } } }],
       contexts: [{ name: x, context: { cluster: c, user: u } }] }`,
  );
  const ask = async (options: ConnectionOptions): Promise<void> => {
    const client = new KubernetesClient(clusterConnection(options));
    await client.get("/version");
    client.close();
  };
  await ask({ kubeconfig });
  await ask({ kubeconfig, user: "bot" });
  assert.deepEqual(seen, [
    { user: "jane", uid: "7", groups: ["dev"], extra: "c" },
    { user: "bot", uid: undefined, groups: undefined, extra: undefined },
  ]);
});

test("a credential plugin is told what it needs, and its credentials have an expiry", async () => {
  const plugin = file(
    "issue.sh",
    `#!/bin/sh
case "$KUBERNETES_EXEC_INFO" in *'"kind":"ExecCredential"'*) ;; *) exit 9;; esac
echo "{\\"kind\\":\\"ExecCredential\\",\\"status\\":{\\"token\\":\\"$1-$REGION\\",\\"expirationTimestamp\\":\\"2030-01-01T00:00:00Z\\"}}"
`,
  );
  chmodSync(plugin, 0o755);
  const { authorization, expires } = await clusterConnection({
    kubeconfig: withUser(
      "exec",
      `{ exec: { apiVersion: client.authentication.k8s.io/v1, command: ./issue.sh, args: [word], env: [{ name: REGION, value: north }] } }`,
    ),
  }).credentials();
  assert.equal(authorization, "Bearer word-north");
  assert.equal(expires, Date.parse("2030-01-01T00:00:00Z"));
});

function withUser(name: string, user: string): string {
  return file(
    name,
    `{ current-context: x, clusters: [{ name: c, cluster: { server: "https://c.example" } }], users: [{ name: u, user: ${user} }], contexts: [{ name: x, context: { cluster: c, user: u } }] }`,
  );
}

const mistakes: [title: string, run: () => unknown, code: KubernetesErrorCode, says: RegExp][] = [
  [
    "no kubeconfig",
    () => clusterConnection({ env: { KUBECONFIG: join(folder, "none") } }),
    "LAMEDUCK_NO_KUBECONFIG",
    /none: no such file/,
  ],
  [
    "no such context",
    () => clusterConnection({ kubeconfig: two, context: "stagging" }),
    "LAMEDUCK_NO_SUCH_CONTEXT",
    /no context "stagging"; there is "staging", "prod", "broken"/,
  ],
  [
    "a context without its cluster",
    () => clusterConnection({ kubeconfig: two, context: "broken" }),
    "LAMEDUCK_KUBECONFIG_INVALID",
    /names the cluster "c"/,
  ],
  [
    "no YAML",
    () => clusterConnection({ kubeconfig: file("bad", "a: [") }),
    "LAMEDUCK_KUBECONFIG_INVALID",
    /bad: /,
  ],
  [
    "a text",
    () => clusterConnection({ kubeconfig: file("text", "hello") }),
    "LAMEDUCK_KUBECONFIG_INVALID",
    /text: is no kubeconfig$/,
  ],
  [
    "a field of the wrong kind",
    () =>
      clusterConnection({ kubeconfig: file("odd", "{ clusters: [{ name: c, cluster: { server: 7 } }] }") }),
    "LAMEDUCK_KUBECONFIG_INVALID",
    /clusters\.0\.cluster\.server/,
  ],
  [
    "a server that is no URL",
    () =>
      clusterConnection({
        kubeconfig: file(
          "url",
          `{ current-context: x, clusters: [{ name: c, cluster: { server: here } }], contexts: [{ name: x, context: { cluster: c } }] }`,
        ),
      }),
    "LAMEDUCK_KUBECONFIG_INVALID",
    /"here" is not the URL/,
  ],
  [
    "a certificate that is not there",
    () =>
      clusterConnection({ kubeconfig: withUser("nocert", "{ client-certificate: none.crt }") }).credentials(),
    "LAMEDUCK_KUBECONFIG_INVALID",
    /nocert[^:]*: none\.crt: no such file or directory$/,
  ],
  [
    "a plugin that is not installed",
    () =>
      clusterConnection({
        kubeconfig: withUser(
          "noplugin",
          "{ exec: { apiVersion: v1, command: no-such-plugin, installHint: Get it from us } }",
        ),
      }).credentials(),
    "LAMEDUCK_CREDENTIALS_FAILED",
    /no-such-plugin.*ENOENT.*Get it from us/,
  ],
  [
    "a plugin that fails",
    () =>
      clusterConnection({
        kubeconfig: withUser(
          "failing",
          `{ exec: { apiVersion: v1, command: sh, args: [-c, "echo log in first >&2; exit 4"] } }`,
        ),
      }).credentials(),
    "LAMEDUCK_CREDENTIALS_FAILED",
    /exit code 4: log in first/,
  ],
  [
    "a plugin that says something else",
    () =>
      clusterConnection({
        kubeconfig: withUser("chatty", "{ exec: { apiVersion: v1, command: echo, args: [hello] } }"),
      }).credentials(),
    "LAMEDUCK_CREDENTIALS_FAILED",
    /printed no JSON/,
  ],
];

for (const [title, run, code, says] of mistakes)
  test(`a kubeconfig with ${title} is refused with a code and the place`, async () => {
    await assert.rejects(
      async () => run(),
      (error) => {
        assert.ok(error instanceof KubernetesError, String(error));
        assert.equal(error.code, code);
        assert.match(error.message, says);
        return true;
      },
    );
  });

test("a credential plugin that is not installed keeps no request waiting", async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  const kubeconfig = withUser("missing-again", `{ exec: { apiVersion: v1, command: no-such-plugin } }`);
  await assert.rejects(() => clusterConnection({ kubeconfig }).credentials());
  assert.equal(timers(), before);
});
