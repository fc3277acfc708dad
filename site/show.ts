import { join } from "node:path";
import { preview } from "vite";

export const built = join(import.meta.dirname, ".vitepress/dist");

/** Shows the built site on loopback, as a plain web server would: an address without a file is 404. Port 0 takes any. */
export async function show(port: number): Promise<{ address: string; stop: () => Promise<void> }> {
  const server = await preview({
    configFile: false,
    root: import.meta.dirname,
    appType: "mpa",
    logLevel: "error",
    build: { outDir: built },
    preview: { host: "127.0.0.1", port, strictPort: port !== 0 },
  });
  return { address: server.resolvedUrls!.local[0]!, stop: () => server.close() };
}
