import type { IncomingMessage } from "node:http";

/** The API server takes 3 MiB from its users; a review of an update holds an object twice. */
export const largestBody = 8 * 1024 * 1024;
/**
 * Of all bodies that are being sent. The API server sends one in milliseconds; anybody else in the cluster may send many, slowly, and Node bounds neither
 * one nor all: 500 connections could hold 4 GB. packages/webhook/test/admission-connections.test.ts shows the attack.
 */
const largestSum = 4 * largestBody;

/** Request bodies as they arrive. When all together are too large, the oldest is dropped: a caller that is alive sends faster. */
export class RequestBodies {
  readonly #sizes = new Map<IncomingMessage, number>();
  readonly #onDrop: () => void;
  #sum = 0;

  constructor(onDrop: () => void = () => undefined) {
    this.#onDrop = onDrop;
  }

  /** @returns none where it is larger than `limit`, breaks off or is given up. */
  read(request: IncomingMessage, limit: number): Promise<string | undefined> {
    return new Promise((resolve) => {
      if (Number(request.headers["content-length"] ?? 0) > limit) {
        resolve(undefined);
        return;
      }
      const chunks: Buffer[] = [];
      let size = 0;
      const end = (text?: string): void => {
        chunks.length = 0;
        this.#remove(request);
        resolve(text);
      };
      request.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > limit) {
          request.pause();
          end();
        } else {
          chunks.push(chunk);
          this.#add(request, size);
        }
      });
      request.on("end", () => end(Buffer.concat(chunks, size).toString("utf8")));
      request.on("error", () => end());
      request.on("close", () => end());
    });
  }

  #add(request: IncomingMessage, size: number): void {
    this.#sum += size - (this.#sizes.get(request) ?? 0);
    this.#sizes.set(request, size);
    if (this.#sum <= largestSum) return;
    const [first] = this.#sizes.keys();
    if (!first) return;
    this.#remove(first);
    first.destroy();
    this.#onDrop();
  }

  #remove(request: IncomingMessage): void {
    this.#sum -= this.#sizes.get(request) ?? 0;
    this.#sizes.delete(request);
  }
}

/** One body by itself. */
export function readBody(request: IncomingMessage, limit: number): Promise<string | undefined> {
  return new RequestBodies().read(request, limit);
}
