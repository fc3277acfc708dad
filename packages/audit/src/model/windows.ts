type Raw = Readonly<Record<string, unknown>>;

/** Labels of nodes that say what runs on them. */
const systemLabel = /(?:^|[./-])os(?:-sku|-distribution)?$/i;
const windowsImage =
  /(?:^|\/)windows\/|servercore|nanoserver|\/dotnet\/framework\/|:[^/]*(?:windows|ltsc20\d\d)/i;
const windowsProgram = /\.exe$|^(?:cmd|powershell)$/i;
const windowsPath = /^[A-Za-z]:(?:[\\/]|$)/;

/** What says that a pod is for nodes of Windows, in the order of how sure it is; undefined where nothing does. @param spec of the pod. */
export function whyWindows(spec: unknown): string | undefined {
  const pod = mapOf(spec);
  if (mapOf(pod["os"])["name"] === "windows") return "os.name is windows";
  for (const [key, value] of Object.entries(mapOf(pod["nodeSelector"])))
    if (isWindows(key, value)) return `nodeSelector ${key} is ${String(value)}`;
  const { requiredDuringSchedulingIgnoredDuringExecution: required } = mapOf(
    mapOf(pod["affinity"])["nodeAffinity"],
  );
  // Each of the terms would do.
  const terms = listOf(mapOf(required)["nodeSelectorTerms"]);
  if (terms.length > 0 && terms.every(needsWindows)) return "its node affinity asks for Windows";
  const tolerated = listOf(pod["tolerations"]).find(({ key, value }) => isWindows(String(key), value));
  if (tolerated) return `it tolerates ${String(tolerated["key"])}=${String(tolerated["value"])}`;
  const runtime = pod["runtimeClassName"];
  if (typeof runtime === "string" && /windows|runhcs|ltsc20\d\d/i.test(runtime))
    return `runtimeClassName is ${runtime}`;
  const containers = listOf(pod["containers"]);
  if ([pod, ...containers].some((one) => "windowsOptions" in mapOf(one["securityContext"])))
    return "securityContext has windowsOptions";
  for (const { name, image, command, volumeMounts } of containers) {
    const said =
      textsOf([image]).find((one) => windowsImage.test(one)) ??
      textsOf(command).find((word, index) => index === 0 && windowsProgram.test(word)) ??
      textsOf(listOf(volumeMounts).map(({ mountPath }) => mountPath)).find((path) => windowsPath.test(path));
    if (said !== undefined) return `container ${String(name)} has ${said}`;
  }
  return undefined;
}

function isWindows(key: string, value: unknown): boolean {
  return (
    key === "node.kubernetes.io/windows-build" ||
    (systemLabel.test(key) && typeof value === "string" && /^windows/i.test(value))
  );
}

function needsWindows(term: Raw): boolean {
  return listOf(term["matchExpressions"]).some(({ key, operator, values }) => {
    const texts = textsOf(values);
    if (key === "node.kubernetes.io/windows-build") return operator === "In" || operator === "Exists";
    if (typeof key !== "string" || !systemLabel.test(key) || texts.length === 0) return false;
    return operator === "In"
      ? texts.every((one) => isWindows(key, one))
      : operator === "NotIn" && texts.includes("linux");
  });
}

function mapOf(value: unknown): Raw {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Raw) : {};
}

function listOf(value: unknown): Raw[] {
  return Array.isArray(value) ? value.map(mapOf) : [];
}

/** No name or path is longer than a path may be; admission is asked about longer ones all the same. */
function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string" && one.length <= 4_096) : [];
}
