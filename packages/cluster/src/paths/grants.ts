import type { Change } from "@lameduck/kube";
import type { GrantObject } from "./objects.ts";

/** Who leads from one namespace to a Service in another. */
interface RouteSource {
  readonly kind: string;
  readonly from: string | undefined;
}

/** A Gateway ignores a backend in another namespace unless a ReferenceGrant there names the route's kind and namespace. */
export class Grants {
  readonly #byNamespace = new Map<string, Map<string, GrantObject>>();

  take({ type, object }: Change<GrantObject>): void {
    const { uid, namespace = "" } = object.metadata;
    const known = this.#byNamespace.get(namespace);
    if (type === "gone") {
      known?.delete(uid);
      if (known?.size === 0) this.#byNamespace.delete(namespace);
    } else if (known) known.set(uid, object);
    else this.#byNamespace.set(namespace, new Map([[uid, object]]));
  }

  allows({ kind, from }: RouteSource, to: string, service: string): boolean {
    if (from === to) return true;
    for (const { spec = {} } of this.#byNamespace.get(to)?.values() ?? []) {
      const isFrom = spec.from?.some((one) => one.kind === kind && one.namespace === from);
      if (isFrom && spec.to?.some((one) => one.kind === "Service" && (one.name ?? service) === service))
        return true;
    }
    return false;
  }
}
