/**
 * What is published beside the ES modules of dist, made of them; part of `npm pack`:
 *
 *     npm run bundle -w packages/node
 *
 * - dist/cjs: the same entries for require(), with their declarations, and the private packages inside. Node itself could require the ES modules,
 *   but TypeScript before 5.8, or told `node16` or `node18`, does not believe it (TS1479), nor do tools with a loader of their own (Jest).
 * - dist/lameduck-register.cjs: one file, to be mounted from a ConfigMap.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown, type OutputOptions } from "rolldown";

const own = fileURLToPath(new URL("..", import.meta.url));
const dist = join(own, "dist");
const cjs = join(dist, "cjs");

async function bundle(input: Record<string, string> | string, output: OutputOptions): Promise<void> {
  const made = await rolldown({ input, cwd: own, platform: "node", external: /^@nestjs\// });
  await made.write({ format: "cjs", ...output });
  await made.close();
}

/** Packages that go inside. */
const inside = ["options", "drain", "protocol"] as const;

/** As they are but for the packages that are inside. Of the protocol the library has the part of pods. */
function copyDeclarations(from: string, to: string, pattern = "**/*.d.ts"): void {
  for (const name of globSync(pattern, { cwd: from, exclude: ["cjs/**"] })) {
    const mended = inside.reduce(
      (text, one) => {
        const place = relative(dirname(join(to, name)), join(cjs, one)).replace(/^(?!\.)/, "./");
        return text
          .replaceAll(`"@lameduck/${one}"`, `"${place}/index.ts"`)
          .replaceAll(new RegExp(`"@lameduck/${one}/(\\w+)"`, "g"), `"${place}/$1.ts"`);
      },
      readFileSync(join(from, name), "utf8"),
    );
    mkdirSync(dirname(join(to, name)), { recursive: true });
    writeFileSync(join(to, name), mended.replace(/^\/\/# sourceMappingURL=.*\n?/m, ""));
  }
}

rmSync(cjs, { recursive: true, force: true });
mkdirSync(cjs, { recursive: true });
// Next to type: module, files named .js would be taken for ES modules, and declarations for those of ES modules.
writeFileSync(join(cjs, "package.json"), `${JSON.stringify({ type: "commonjs" })}\n`);
const entries = Object.fromEntries(
  ["index", "events", "register", "fastify", "nest"].map((name) => [name, join(dist, `${name}.js`)]),
);
await bundle(entries, { dir: cjs, entryFileNames: "[name].js", chunkFileNames: "shared-[name].js" });
copyDeclarations(dist, cjs);
for (const one of inside)
  copyDeclarations(
    join(own, "..", one, "dist"),
    join(cjs, one),
    one === "protocol" ? "pod*.d.ts" : undefined,
  );
await bundle(join(dist, "register.js"), { file: join(dist, "lameduck-register.cjs"), minify: true });
