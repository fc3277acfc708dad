import type { IncomingMessage } from "node:http";

/** The whole body of an answer. @throws where it is longer than `mostBytes`, or cut off. */
export function bodyOf(response: IncomingMessage, mostBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    response
      .on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size > mostBytes) response.destroy(new Error(`more than ${mostBytes} bytes`));
        else chunks.push(chunk);
      })
      .on("end", () => resolve(Buffer.concat(chunks).toString()))
      .on("error", reject)
      .on("close", () => reject(new Error("cut off")));
  });
}
