import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { dockerArchive, tarOf, type Entry } from "../../images/test/archives.ts";

export { dockerArchive, tarOf } from "../../images/test/archives.ts";

/** The program of `fixtures/in-image.c`, which needs nothing else in its image. @returns undefined without a C compiler. */
export function compiledServer(folder: string): string | undefined {
  const output = join(folder, "web");
  const source = join(import.meta.dirname, "fixtures/in-image.c");
  for (const compiler of ["musl-gcc", "gcc", "cc"]) {
    const { status } = spawnSync(compiler, ["-static", "-Os", "-o", output, source]);
    if (status === 0) return output;
  }
  return undefined;
}

/** A library that leaves a mark where it is loaded while this machine's files are in reach. */
export function compiledTrap(folder: string, mark: string): string {
  const output = join(folder, "trap.so");
  const source = join(import.meta.dirname, "fixtures/trap.c");
  const args = ["-shared", "-fPIC", `-DMARK="${mark}"`, "-o", output, source];
  if (["gcc", "cc"].some((compiler) => spawnSync(compiler, args).status === 0)) return output;
  throw new Error(`${source} cannot be compiled`);
}

/** An image of one program. */
export function serverImage(
  program: Buffer,
  more: Readonly<Record<string, unknown>> = {},
  ...files: readonly Entry[]
): Buffer {
  const layer = tarOf(
    { path: "web", text: program, mode: 0o755 },
    { path: "etc/passwd", text: "root:x:0:0::/root:/\nweb:x:101:102::/srv:/\n" },
    { path: "srv", type: "Directory" },
    ...files,
  );
  const config = {
    User: "web",
    WorkingDir: "/srv",
    Entrypoint: ["/web", "serve"],
    Cmd: ["80"],
    StopSignal: "SIGQUIT",
    ExposedPorts: { "80/tcp": {} },
    Env: ["OF_IMAGE=yes", "OF_BOTH=image"],
    ...more,
  };
  return dockerArchive([layer], { config, names: ["registry.example/web:7"] });
}
