import assert from "node:assert/strict";
import { request as httpsRequest } from "node:https";
import test from "node:test";
import { rm, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AdmissionServer } from "../src/admission/server.ts";
import { CertificateKeeper, type KeeperOptions } from "../src/certificates/keeper.ts";
import { fromSecretData, toSecretData } from "../src/certificates/chain.ts";
import { MountedCertificate } from "../src/certificates/mounted.ts";
import { rotate } from "../src/certificates/rotate.ts";
import { bundles, configurations, OperatorApi, until } from "../../cluster/test/operator-api.ts";

const name = "lameduck-webhook-tls";

interface Replica extends AsyncDisposable {
  readonly keeper: CertificateKeeper;
  readonly port: number;
  readonly shown: string[];
  readonly problems: unknown[];
}

async function replica(api: OperatorApi, lifetimes: Partial<KeeperOptions> = {}): Promise<Replica> {
  const client = api.client();
  const server = new AdmissionServer({
    mutate: () => ({ allowed: true }),
    validate: () => ({ allowed: true }),
    notReady: () => undefined,
  });
  const shown: string[] = [];
  const problems: unknown[] = [];
  const keeper = new CertificateKeeper(client, {
    namespace: "lameduck-system",
    secret: name,
    names: ["localhost"],
    certificateLifetime: 3_600_000,
    authorityLifetime: 36_000_000,
    onCertificate: (leaf) => {
      server.useCertificate(leaf);
      shown.push(leaf.cert);
    },
    onProblem: (error) => problems.push(error),
    ...lifetimes,
  });
  await keeper.start();
  const port = await server.listen(0, "127.0.0.1");
  return {
    keeper,
    port,
    shown,
    problems,
    [Symbol.asyncDispose]: async () => {
      await keeper.stop();
      client.close();
      await server.close();
    },
  };
}

/** A new connection that trusts what the webhook configuration says. */
function handshake(port: number, ca: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, ca, servername: "localhost", agent: false as const };
    httpsRequest({ ...options, timeout: 10_000 }, (response) => response.resume().on("end", () => resolve()))
      .on("error", reject)
      .on("timeout", () => reject(new Error("no answer")))
      .end();
  });
}

async function configured(): Promise<OperatorApi> {
  const api = await OperatorApi.start();
  for (const resource of configurations)
    api.put(resource, "lameduck.dev", {
      webhooks: [
        { name: "a", clientConfig: {} },
        { name: "b", clientConfig: { caBundle: "d3Jvbmc=" } },
      ],
    });
  return api;
}

test("two replicas that start together agree on one certificate, and tell the API server of it", async () => {
  await using api = await configured();
  const started = await Promise.all([replica(api), replica(api)]);
  await using a = started[0];
  await using b = started[1];
  await until(() => a.shown.at(-1) === b.shown.at(-1), "one certificate");
  await until(() => new Set(bundles(api)).size === 1, "one bundle everywhere");
  await Promise.all([a, b].map(({ port }) => handshake(port, bundles(api)[0] ?? "")));
  await assert.rejects(
    handshake(
      a.port,
      (
        await rotate(
          undefined,
          Date.now(),
          {
            names: ["localhost"],
            certificateLifetime: 60_000,
            authorityLifetime: 60_000,
          },
          () => true,
        )
      ).authority.cert,
    ),
    "an authority that is not ours is not enough",
  );
});

test("certificates and authorities change many times under new connections, and not one handshake fails", async () => {
  await using api = await configured();
  // A third of it is left for a renewal, which a busy machine may delay by seconds.
  const lifetimes = { certificateLifetime: 12_000, authorityLifetime: 24_000 };
  const started = await Promise.all([replica(api, lifetimes), replica(api, lifetimes)]);
  await using a = started[0];
  await using b = started[1];
  await until(() => new Set(bundles(api)).size === 1, "one bundle everywhere");
  const authorities = new Set<string>();
  const failures: string[] = [];
  let handshakes = 0;
  const enough = (): boolean => authorities.size >= 3 && a.shown.length >= 5 && b.shown.length >= 5;
  const end = Date.now() + 90_000;
  while (!enough() && Date.now() < end) {
    // The API server's informer sees a change of its own configuration a little later.
    const [bundle = ""] = bundles(api);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all(
      [a, b].map(({ port }) =>
        handshake(port, bundle).then(
          () => void handshakes++,
          (error: unknown) => void failures.push(String(error)),
        ),
      ),
    );
    const secret = api.get("secrets", name) as unknown as { data: Record<string, string> };
    authorities.add(fromSecretData(secret.data)?.authority.cert ?? "");
  }
  assert.ok(
    enough(),
    `${authorities.size} authorities, ${a.shown.length} and ${b.shown.length} certificates`,
  );
  assert.deepEqual(failures, [], `of ${handshakes} handshakes`);
});

test("a wrong caBundle in one webhook of one configuration is put right", async () => {
  await using api = await configured();
  await using one = await replica(api);
  const [right] = bundles(api);
  const [, validating] = configurations;
  const item = api.get(validating, "lameduck.dev") as unknown as { webhooks: { clientConfig: object }[] };
  const webhooks = item.webhooks.map((webhook, index) =>
    index === 0 ? webhook : { ...webhook, clientConfig: { caBundle: "d3Jvbmc=" } },
  );
  api.change(validating, "lameduck.dev", { webhooks });
  await until(() => bundles(api).every((bundle) => bundle === right), "put right");
  assert.deepEqual(one.problems, []);
});

test("a webhook configuration that comes later is told the caBundle, too", async () => {
  await using api = await OperatorApi.start();
  await using _one = await replica(api);
  const [mutating] = configurations;
  api.put(mutating, "lameduck.dev", { webhooks: [{ name: "a", clientConfig: {} }] });
  await until(() => bundles(api).length === 1 && bundles(api)[0] !== "", "told");
});

test("a Secret that is removed or damaged is restored from memory, with the same authority", async () => {
  await using api = await configured();
  await using one = await replica(api);
  const [right] = bundles(api);
  const damages = [
    () => api.remove("secrets", name),
    () => api.change("secrets", name, { data: { "tls.crt": "bm8=" } }),
    () => api.change("secrets", name, { data: { "ca.key": "bm8=" } }),
  ];
  for (const damage of damages) {
    damage();
    await until(() => {
      const { data } = (api.get("secrets", name) ?? {}) as { data?: Record<string, string> };
      return fromSecretData(data) !== undefined;
    }, "restored");
    await until(() => bundles(api).every((bundle) => bundle === right), "the same authority");
    await handshake(one.port, right ?? "");
  }
});

test("an API server that fails is asked for the certificates again", async () => {
  await using api = await configured();
  await using one = await replica(api);
  let failing = true;
  api.fault = ({ resource, watch }) =>
    failing && resource === "secrets" && !watch ? { status: 500, body: { message: "no" } } : undefined;
  api.remove("secrets", name);
  await until(() => one.problems.length > 0, "a problem");
  failing = false;
  await one.keeper.reconcileSoon();
  await until(() => api.get("secrets", name) !== undefined, "restored");
});

test("mounted certificates are read again when they change, and are never shown when the files do not fit", async () => {
  const directory = await mkdtemp(join(tmpdir(), "lameduck-certificates-"));
  const issue = async (): Promise<{ cert: string; key: string }> =>
    (
      await rotate(
        undefined,
        Date.now(),
        { names: ["localhost"], certificateLifetime: 60_000, authorityLifetime: 60_000 },
        () => true,
      )
    ).leaf;
  const write = (pair: { cert?: string; key?: string }): Promise<unknown> =>
    Promise.all([
      pair.cert === undefined || writeFile(join(directory, "tls.crt"), pair.cert),
      pair.key === undefined || writeFile(join(directory, "tls.key"), pair.key),
    ]);
  const shown: string[] = [];
  const problems: unknown[] = [];
  const mounted = new MountedCertificate({
    directory,
    every: 5,
    onCertificate: ({ cert }) => shown.push(cert),
    onProblem: (error) => problems.push(error),
  });
  await assert.rejects(mounted.start(), { code: "LAMEDUCK_OPERATOR_BAD_CERTIFICATE" });
  const [first, second] = [await issue(), await issue()];
  await write(first);
  await mounted.start();
  await write({ cert: second.cert });
  await until(() => problems.length > 0, "half a swap");
  assert.deepEqual(shown, [first.cert]);
  await write({ key: second.key });
  await until(() => shown.length === 2, "the second");
  await mounted.stop();
  await rm(directory, { recursive: true });
});

test("a new authority signs nothing before it is known what the API server trusts", async () => {
  await using api = await configured();
  const lifetimes = { certificateLifetime: 3_600_000, authorityLifetime: 36_000_000 };
  const options = { names: ["localhost"], ...lifetimes };
  const made = Date.now() - 25_000_000;
  const first = await rotate(undefined, made, options, () => true);
  const chain = await rotate(first, made + 24_100_000, options, () => true);
  const next = chain.next?.cert ?? "";
  assert.notEqual(next, "");
  // The successor has been there for long, and somebody has replaced the configurations since.
  api.put("secrets", name, { metadata: { namespace: "lameduck-system" }, data: toSecretData(chain) });
  api.fault = ({ resource, watch }) =>
    configurations.some((one) => one === resource) && !watch ? { after: 300 } : undefined;
  const now = (): number => Date.now() + 4_000_000;
  const signs = (): boolean =>
    fromSecretData(api.get("secrets", name)?.["data"] as Record<string, string>)?.authority.cert === next;
  let isTooEarly = false;
  await using _one = await replica(api, {
    now,
    onCertificate: () => (isTooEarly ||= signs() && !bundles(api).every((one) => one.includes(next.trim()))),
  });
  await until(signs, "the new authority signs");
  assert.equal(isTooEarly, false);
});
