import { Command } from "commander";
import { ImageStore, mostStoredBytes, spellBytes } from "@lameduck/images";
import { ending } from "../help/ending.ts";
import { columns, say, writeOutput } from "../output.ts";

/** `lameduck images`: what lab and audit have unpacked. */
export function imagesCommand(): Command {
  return new Command("images")
    .description(
      `List the container images that lab and audit have unpacked on this machine. Those used last are kept, up to ${spellBytes(mostStoredBytes)}.`,
    )
    .option("--remove", "remove all that no lab is using")
    .addHelpText("after", examples)
    .action(({ remove, json }: { remove?: boolean; json?: string }) => {
      const store = new ImageStore();
      if (remove) {
        const removed = store.shrink(0);
        const inUse = store.list().length;
        if (json) writeOutput("--json", json, () => `${JSON.stringify({ removed, inUse }, undefined, 2)}\n`);
        else say(`${removed} removed${inUse === 0 ? "" : `, ${inUse} in use`}`);
        return;
      }
      const images = store.list();
      if (json) {
        const plain = images.map(({ name, digest, bytes, usedAt }) => ({
          name,
          digest,
          bytes,
          usedAt,
          root: store.rootOf(digest),
        }));
        writeOutput("--json", json, () => `${JSON.stringify(plain, undefined, 2)}\n`);
      } else if (images.length === 0) say(`no image is unpacked in ${store.folder}`);
      else {
        const rows = images.map(({ name, digest, bytes, usedAt, isInUse }) => [
          name,
          digest.slice(0, 12),
          spellBytes(bytes),
          isInUse ? "in use" : usedAt.toISOString().slice(0, 16).replace("T", " "),
        ]);
        process.stdout.write(
          columns([["image", "id", "size", "last used"], ...rows])
            .map((line) => `${line}\n`)
            .join(""),
        );
      }
    });
}

const examples = ending(
  `
Examples:
  $ lameduck images
  $ lameduck images --remove

They lie in $XDG_CACHE_HOME/lameduck/images, else in ~/.cache/lameduck/images.
Nothing is pulled or changed in docker, podman or nerdctl.`,
  "0 done, 2 usage, 3 internal, 4 the folder cannot be used",
  "docs/tools/lab.md",
);
