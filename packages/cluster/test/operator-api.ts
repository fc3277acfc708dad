import { FakeApi, merge, type Answer, type Item } from "../../kube/test/fake-api.ts";

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly value: unknown;
}

/** What the operator writes, as an API server takes it. */
export class OperatorApi extends FakeApi {
  static override async start(): Promise<OperatorApi> {
    const api = new OperatorApi();
    await api.listen();
    return api;
  }

  protected override act(method: string, resource: string, name: string, _sub: string, body: Item): Answer {
    const conflict = { status: 409, body: { reason: "Conflict", message: "somebody was faster" } };
    const known = this.get(resource, name || body.metadata?.name);
    if (method === "POST") {
      if (known) return conflict;
      return { status: 201, body: this.put(resource, body.metadata.name, body) };
    }
    if (method === "PATCH" && resource === "configmaps") {
      if (!known) return { status: 200, body: this.put(resource, name, body) };
      const textOf = (one: Item): string => JSON.stringify([one["binaryData"], one.metadata.annotations]);
      // Applying what is there makes no new version, and leaves what others have added.
      const isSame = textOf(known) === textOf(merge(known, body) as Item);
      return { status: 200, body: isSame ? known : this.change(resource, name, body) };
    }
    if (!known) return { status: 404, body: { reason: "NotFound", message: `${name} not found` } };
    if (method === "DELETE") {
      this.remove(resource, name);
      return { status: 200, body: { kind: "Status", status: "Success" } };
    }
    if (method === "PUT") {
      if (known.metadata.resourceVersion !== body.metadata.resourceVersion) return conflict;
      return { status: 200, body: this.put(resource, name, body) };
    }
    const operations: unknown = body;
    if (!Array.isArray(operations)) return { status: 200, body: this.change(resource, name, body) };
    return this.#jsonPatch(resource, known, operations as readonly Operation[]);
  }

  #jsonPatch(resource: string, known: Item, operations: readonly Operation[]): Answer {
    const changed = structuredClone(known);
    for (const { op, path, value } of operations) {
      const keys = path.split("/").slice(1);
      const last = keys.pop() ?? "";
      const place = keys.reduce<Record<string, unknown>>(
        (at, key) => at[key] as Record<string, unknown>,
        changed as unknown as Record<string, unknown>,
      );
      if (op === "test" && place[last] !== value)
        return { status: 422, body: { message: "the test failed" } };
      if (op !== "test") place[last] = value;
    }
    return { status: 200, body: this.change(resource, known.metadata.name, changed) };
  }
}

export const configurations = [
  "admissionregistration.k8s.io/mutatingwebhookconfigurations",
  "admissionregistration.k8s.io/validatingwebhookconfigurations",
] as const;

/** What the API server would trust, by each webhook. */
export function bundles(api: FakeApi): string[] {
  return configurations.flatMap((resource) =>
    api
      .items(resource)
      .flatMap(({ webhooks }) =>
        (webhooks as { clientConfig: { caBundle?: string } }[]).map(({ clientConfig }) =>
          Buffer.from(clientConfig.caBundle ?? "", "base64").toString(),
        ),
      ),
  );
}

export async function until(condition: () => boolean, what: string): Promise<void> {
  const end = Date.now() + 30_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
