import type { IncomingMessage } from "node:http";

/** The API server takes 3 MiB from its users; a review of an update holds an object twice. */
export const largestBody = 8 * 1024 * 1024;

/** @returns none where it is larger than `limit` or breaks off. */
export function readBody(request: IncomingMessage, limit: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    if (Number(request.headers["content-length"] ?? 0) > limit) {
      resolve(undefined);
      return;
    }
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        chunks.length = 0;
        request.pause();
        resolve(undefined);
      } else chunks.push(chunk);
    });
    request.on("end", () => resolve(Buffer.concat(chunks, size).toString("utf8")));
    request.on("error", () => resolve(undefined));
    request.on("close", () => resolve(undefined));
  });
}
