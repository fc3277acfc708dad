import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SecretPath } from "../src/deletions/secret-path.ts";
import { OperatorApi, until } from "../../cluster/test/operator-api.ts";

const resource = "admissionregistration.k8s.io/validatingwebhookconfigurations";
const ofHolds = { root: "/hold", configuration: "held-deletions.lameduck.dev" };
const ofSurges = { root: "/surge", configuration: "surge.lameduck.dev" };

interface Configuration {
  readonly webhooks: readonly {
    readonly clientConfig: { readonly url?: string; readonly service?: { readonly path?: string } };
  }[];
}

for (const called of [ofHolds, ofSurges])
  describe(`the path ${called.root} that only the API server knows`, () => {
    const paths = (api: OperatorApi): string[] => {
      const found = api.get(resource, called.configuration) as unknown as Configuration;
      return found.webhooks.map(
        ({ clientConfig }) =>
          clientConfig.service?.path ?? new URL(clientConfig.url ?? "http://none").pathname,
      );
    };
    const install = (api: OperatorApi): unknown =>
      api.put(resource, called.configuration, {
        webhooks: [
          { clientConfig: { service: { path: called.root } } },
          { clientConfig: { url: `https://198.18.0.1:18443${called.root}` } },
        ],
      });

    it("the secret path of held deletions is the same for all replicas, and the API server is told it again after an upgrade", async () => {
      await using api = await OperatorApi.start();
      install(api);
      const problems: unknown[] = [];
      const client = api.client();
      const replicas = [0, 1].map(
        () => new SecretPath(client, called, (_part, error) => problems.push(error)),
      );
      for (const one of replicas) {
        one.start();
        one.deriveFrom("key of the authority");
      }
      // The API server takes a Service's path only if each part of it is a name of DNS: lower case, without underscores.
      const isTold = (): boolean =>
        paths(api).every(
          (path) => /^\/(hold|surge)\/[0-9a-f]{64}$/.test(path) && path.startsWith(called.root),
        );
      await until(isTold, "told");
      const [path = ""] = paths(api);
      assert.ok(replicas.every((one) => one.matches(path)));
      for (const wrong of [
        "",
        called.root,
        `${called.root}/`,
        `${path}x`,
        path.slice(0, -1),
        path.toUpperCase(),
      ])
        assert.ok(!replicas.some((one) => one.matches(wrong)), wrong);
      install(api);
      await until(isTold, "told again");
      for (const one of replicas) one.deriveFrom("another key");
      await until(() => paths(api)[0] !== path && isTold(), "told of another");
      assert.ok(!replicas.some((one) => one.matches(path)));
      assert.deepEqual(problems, []);
      await Promise.all(replicas.map((one) => one.stop()));
      client.close();
    });

    it("nobody may have a deletion held as long as the secret path is not known", async () => {
      await using api = await OperatorApi.start();
      const client = api.client();
      const caller = new SecretPath(client, called, () => undefined);
      assert.ok(!caller.matches("") && !caller.matches(called.root));
      client.close();
    });
  });
