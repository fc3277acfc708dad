import type { Server } from "node:http";

/** Each library as its own documentation attaches it. The peers are installed in this folder: see README.md. */
const libraries: Record<string, (server: Server) => unknown> = {
  bare: () => {},
  "bare again": () => {},
  lameduck: async (server) => (await import("@lameduck/node")).lameduck(server),
};

export const names = Object.keys(libraries);

export async function attach(name: string, server: Server): Promise<void> {
  const library = libraries[name];
  if (!library) throw new Error(`${name} is not one of ${names.join(", ")}`);
  await library(server);
}
