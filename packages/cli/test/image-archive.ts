import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { dockerArchive, tarOf } from "../../images/test/archives.ts";

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

/** An image of a program of this machine, with the libraries that it needs. @returns undefined where one of them is missing. */
export function machineImage(
  name: string,
  config: Readonly<Record<string, unknown>>,
  files: Readonly<Record<string, string>>,
): Buffer | undefined {
  const program = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"]
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
  const { stdout, status } = spawnSync("ldd", [program ?? ""], { encoding: "utf8" });
  if (program === undefined || status !== 0) return undefined;
  const libraries = [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path);
  const layer = tarOf(
    ...[program, ...libraries].map((path) => ({ path, text: readFileSync(path), mode: 0o755 })),
    ...Object.entries(files).map(([path, text]) => ({ path, text })),
    { path: "tmp", type: "Directory", mode: 0o1777 },
  );
  const { Cmd } = config as { readonly Cmd: readonly string[] };
  const whole = { User: "101", ...config, Cmd: [program, ...Cmd], ExposedPorts: { "8080/tcp": {} } };
  return dockerArchive([layer], { config: whole, names: [`registry.example/${name}:1`] });
}

/** An image of one program. */
export function serverImage(program: Buffer, more: Readonly<Record<string, unknown>> = {}): Buffer {
  const layer = tarOf(
    { path: "web", text: program, mode: 0o755 },
    { path: "etc/passwd", text: "root:x:0:0::/root:/\nweb:x:101:102::/srv:/\n" },
    { path: "srv", type: "Directory" },
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
