import type { Server } from "node:net";

export interface Surroundings {
  /** Stops the server, for libraries that leave that to their user. */
  close?: () => Promise<void>;
  /** Milliseconds that a library may take for what is in flight, where a delay is given. */
  plenty?: number;
  /** Whether it may find out by itself that it runs in Kubernetes. */
  inKubernetes?: boolean;
}

/** `server` is undefined for gRPC, which has none that these libraries know. */
export const libraries: Record<
  string,
  (server: Server | undefined, delay?: number, surroundings?: Surroundings) => unknown
>;
