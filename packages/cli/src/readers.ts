/**
 * Lets a run go on when who reads its output has gone: Ctrl-C ends the `tee` behind it too, and a hung-up terminal answers EIO. What was
 * changed on a cluster must be taken back all the same.
 */
export function surviveReaders(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    });
}
