import type { OutgoingHttpHeaders } from "node:http";
/** What authenticates a request: a client certificate, a token, or a name and password. */
export interface Credentials {
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly authorization?: string;
  /** Date.now() from which they have expired; Infinity if unknown. */
  readonly expires: number;
}

export interface Impersonation {
  readonly user: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** How to reach one cluster as one user. */
export interface ClusterConnection {
  /** Name of the context; "in-cluster" where there is no kubeconfig. */
  readonly context: string;
  readonly cluster: string;
  readonly server: URL;
  readonly namespace: string;
  readonly ca: string | Buffer | undefined;
  readonly insecure: boolean;
  readonly serverName: string | undefined;
  /** The proxy to use; undefined for none, whatever the environment says. */
  readonly proxy: string | undefined;
  /** The user and groups to impersonate, where that is allowed. */
  readonly impersonation?: Impersonation | undefined;
  /** Read anew at each call: tokens are renewed in their files, and plugins issue new ones. */
  readonly credentials: (signal?: AbortSignal) => Promise<Credentials>;
}

/** The headers by which a request is made as somebody else. */
export function impersonationHeaders({ impersonation }: ClusterConnection): OutgoingHttpHeaders {
  if (!impersonation) return {};
  const { user, uid, groups, extra = {} } = impersonation;
  return {
    "impersonate-user": user,
    ...(uid === undefined ? {} : { "impersonate-uid": uid }),
    ...(groups.length > 0 ? { "impersonate-group": [...groups] } : {}),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, values]) => [
        `impersonate-extra-${encodeURIComponent(key)}`,
        [...values],
      ]),
    ),
  };
}
