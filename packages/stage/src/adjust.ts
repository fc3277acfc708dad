import type { ContainerTemplate, EnvEntry, PodTemplate } from "@lameduck/manifests";

/** What a remedy changes in the pods of one run. */
export interface Adjustments {
  /** Instead of the serving container's own hook; other containers without one get it, too. */
  readonly preStopSleepSeconds?: number;
  /** Added for every container, over the manifest's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** Set for every container, over everything else. */
  readonly overrides?: Readonly<Record<string, string>>;
  /** Put before the serving container's command. */
  readonly commandPrefix?: readonly string[];
  /** Put into the root of the serving container's image. */
  readonly files?: readonly { readonly from: string; readonly to: string }[];
  readonly graceSeconds?: number;
}

export function adjustTemplate(template: PodTemplate, adjustments: Adjustments): PodTemplate {
  const serving = servingContainer(template);
  return {
    ...template,
    graceSeconds: adjustments.graceSeconds ?? template.graceSeconds,
    containers: template.containers.map((container) =>
      adjustContainer(container, container === serving, adjustments),
    ),
    initContainers: template.initContainers.map((container) =>
      container.sidecar
        ? { ...container, ...adjustContainer(container, container === serving, adjustments) }
        : container,
    ),
  };
}

/** The container that declares the port senders go to, be it a sidecar; without one that does, the first. */
function servingContainer(template: PodTemplate): ContainerTemplate | undefined {
  const kept = [...template.containers, ...template.initContainers.filter(({ sidecar }) => sidecar)];
  return kept.find(({ ports }) => ports.some(({ port }) => port === template.port)) ?? template.containers[0];
}

function adjustContainer(
  container: ContainerTemplate,
  serving: boolean,
  { preStopSleepSeconds, env = {}, overrides = {}, commandPrefix = [], files = [] }: Adjustments,
): ContainerTemplate {
  const added = [...Object.entries(env), ...Object.entries(overrides)].map(([name, value]): EnvEntry => {
    // Meant as it is, not as a reference to other variables.
    return { name, value: value.replaceAll("$", () => "$$") };
  });
  const sleeps = preStopSleepSeconds !== undefined && (serving || !container.preStop);
  return {
    ...container,
    command: serving ? [...commandPrefix, ...container.command] : container.command,
    env: [...container.env, ...added],
    ...(serving && container.root
      ? { root: { ...container.root, files: [...(container.root.files ?? []), ...files] } }
      : {}),
    ...(sleeps ? { preStop: { kind: "sleep", seconds: preStopSleepSeconds } } : {}),
  };
}
