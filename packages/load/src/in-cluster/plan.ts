import { hasCredentials } from "../routes/shown-url.ts";
import type { LoadOptions, TlsOptions } from "../plan.ts";
import type { LoadProtocol } from "../protocols.ts";
import type { RequestOptions } from "../request-form.ts";

/** What a pod of the load has to do: plan.json beside its program. */
export interface PodPlan {
  readonly routes: readonly {
    readonly name: string;
    readonly url: string;
    readonly protocol: LoadProtocol;
    readonly request?: RequestOptions;
    readonly tls?: TlsOptions;
  }[];
  /** This pod's share; the paths and the host are each route's own. */
  readonly load: LoadOptions;
  readonly seed: number;
  /** How long the pod is kept after the last line, in milliseconds: its log is deleted with it. */
  readonly linger: number;
}

/** Headers and bodies are credentials, as often as not: what has any is a Secret, and a ConfigMap else. */
export function isSecret(
  routes: readonly { readonly url: URL | string; readonly request?: RequestOptions | undefined }[],
): boolean {
  return routes.some(
    ({ url, request }) =>
      hasCredentials(new URL(url)) || (request?.headers?.length ?? 0) > 0 || request?.body !== undefined,
  );
}

/** Where it is mounted. */
export const programFolder = "/lameduck";
export const programFile = "load.mjs";
export const planFile = "plan.json";
