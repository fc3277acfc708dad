/** Registries that serve what Docker Hub has. */
export const dockerHubs: readonly string[] = [
  "docker.io",
  "index.docker.io",
  "mirror.gcr.io",
  "public.ecr.aws/docker",
];

/** Without tag and digest. */
export function repositoryOf(image: string): string {
  // No regular expression: admission passes unchecked texts of megabytes.
  const [name = ""] = image.split("@", 1);
  const colon = name.lastIndexOf(":");
  return colon > name.lastIndexOf("/") ? name.slice(0, colon) : name;
}

/** The name on Docker Hub, without `library/`; undefined for what is of another registry, also where that mirrors Docker Hub. */
export function hubRepositoryOf(image: string | undefined): string | undefined {
  if (image === undefined) return undefined;
  const hub = dockerHubs.find((one) => image.startsWith(`${one}/`));
  const repository = repositoryOf(image).slice(hub === undefined ? 0 : hub.length + 1);
  const [first = "", ...rest] = repository.split("/");
  if (hub === undefined && rest.length > 0 && /[.:]|^localhost$/.test(first)) return undefined;
  return repository.replace(/^library\//, "");
}

/** Docker Hub's own images are the ones without an owner. */
export function isOfficialImage(image: string | undefined): boolean {
  const repository = hubRepositoryOf(image);
  return repository !== undefined && repository !== "" && !repository.includes("/");
}
