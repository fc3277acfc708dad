import { connect } from "node:net";

import { LoadError } from "@lameduck/load";
import type { Program } from "./binary.ts";

/** Longest time a proxy may take to listen, milliseconds. */
const startTime = 10_000;

/** Resolves when something listens there. @throws {LoadError} LAMEDUCK_SENDER_FAILED with the program's own words. */
export async function reachable(options: {
  address: string;
  port: number;
  program: Program;
  name: string;
}): Promise<void> {
  const deadline = performance.now() + startTime;
  while (!(await accepts(options.address, options.port))) {
    if (options.program.ended || performance.now() > deadline)
      throw new LoadError(
        "LAMEDUCK_SENDER_FAILED",
        `sender ${options.name}`,
        `does not listen: ${options.program.words.slice(-3).join("; ")}`,
      );
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  }
}

function accepts(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port });
    socket.on("connect", () => {
      resolve(true);
      socket.destroy();
    });
    socket.on("error", () => resolve(false));
  });
}
