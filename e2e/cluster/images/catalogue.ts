import { join } from "node:path";
import type { Image } from "./image.ts";

export const pauseImage = "lameduck.test/pause:1";
export const nodeImage = "lameduck.test/node:1";

const samples = join(import.meta.dirname, "samples");

/** Every image that the cluster's nodes are born with. */
export function catalogue(pause: string): Image[] {
  return [
    { reference: pauseImage, layers: [{ files: [{ to: "/pause", from: pause }] }], entrypoint: ["/pause"] },
    {
      reference: nodeImage,
      layers: [
        {
          files: [{ to: "/usr/local/bin/node", from: process.execPath, withLibraries: true }],
          writable: ["/tmp"],
        },
        { files: [{ to: "/app/server.mjs", from: join(samples, "server.mjs"), mode: 0o644 }] },
      ],
      entrypoint: ["/usr/local/bin/node"],
    },
  ];
}
