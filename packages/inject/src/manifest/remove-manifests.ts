import { spell, type InputFile, type Workload } from "@lameduck/audit";
import {
  ManifestError,
  exchangeField,
  removeEntries,
  removeValue,
  replaceScalar,
  scalar,
  type Edit,
  type Field,
} from "@lameduck/manifests";
import type { Empties } from "./empties.ts";
import { removalOf, type ContainerRemoval, type Removal } from "./removal.ts";
import type { InjectedManifests } from "./inject-manifests.ts";
import { cannotEdit, readManifests, withEdits } from "./reading.ts";

/** A workload, and what of an injection was taken out of it. */
export interface RemovedWorkload {
  readonly name: string;
  readonly isRemoved: boolean;
  /** Fields that an injection has written and somebody has changed since: they stay. */
  readonly kept: readonly string[];
}

export interface RemovedManifests extends Pick<InjectedManifests, "files" | "inventory" | "failures"> {
  readonly workloads: readonly RemovedWorkload[];
}

/** Takes out of every pod template what injectManifests has written into it. The rest of the file stays as it is, byte for byte. */
export function removeFromManifests(files: readonly InputFile[]): RemovedManifests {
  const { inventory, failures } = readManifests(files);
  const texts = new Map(files.map(({ name, text }) => [name, text]));
  const edits: Edit[] = [];
  const workloads = inventory.workloads.flatMap((workload): RemovedWorkload[] => {
    const name = spell(workload.object);
    try {
      const removal = removalOf(workload.template.plain());
      const own = removal && editsOf(removal, workload, texts.get(workload.template.source.file) ?? "");
      if (removal && own === undefined) failures.push(cannotEdit(workload));
      edits.push(...(own ?? []));
      return [{ name, isRemoved: own !== undefined, kept: removal?.kept ?? [] }];
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      failures.push(error);
      return [];
    }
  });
  const edited = files.map((before) => ({ before, after: withEdits(before, edits, failures) }));
  // Edits are made by offsets. The edited files are read again, to see that the edits did what they should.
  const left = readManifests(edited.map(({ after }) => after)).inventory.workloads;
  const misread = inventory.workloads.find(
    (_, index) => failures.length === 0 && removalOf(left[index]?.template.plain()) !== undefined,
  );
  if (misread) failures.push(cannotEdit(misread));
  return { files: edited, workloads, inventory, failures };
}

function editsOf(removal: Removal, { template }: Workload, text: string): readonly Edit[] | undefined {
  const pod = template.at("spec");
  const fields = new Set<string>();
  const edits = [
    ...removal.containers.map((one) =>
      ofContainer(one, pod.at("containers").items()[one.index]!, text, removal.empties),
    ),
    takeItems(text, pod, "volumes", removal.volumes, fields, removal.empties.get("/volumes")),
    takeItems(
      text,
      pod,
      "initContainers",
      removal.initContainers,
      fields,
      removal.empties.get("/initContainers"),
    ),
  ];
  const grace = pod.at("terminationGracePeriodSeconds");
  if (removal.grace === "absent") fields.add("terminationGracePeriodSeconds");
  else if (removal.grace !== undefined) edits.push(orNone(replaceScalar(grace, scalar(removal.grace))));
  edits.push(take(text, pod, fields), ofAnnotations(text, template, removal));
  return edits.every((one) => one !== undefined) ? edits.flat() : undefined;
}

type Edits = readonly Edit[] | undefined;

function ofContainer(
  { hook, env, mounts, changed }: ContainerRemoval,
  container: Field,
  text: string,
  empties: Empties,
): Edits {
  const fields = new Set<string>();
  const was = (key: string): string | undefined => empties.get(`${container.at("name").text() ?? ""}/${key}`);
  const lifecycle = container.at("lifecycle");
  const isAlone = lifecycle.entries().length === 1;
  const former = hook ? was("preStop") : undefined;
  const [handler] = former === undefined ? [] : lifecycle.at("preStop").entries();
  const isGone = hook && handler === undefined;
  const variable = changed && container.at("env").items()[changed.at]?.at("value");
  const edits: Edits[] = [
    handler && former !== undefined
      ? orNone(exchangeField(text, lifecycle.at("preStop").at(handler[0]), former))
      : [],
    isGone && !isAlone ? take(text, lifecycle, new Set(["preStop"])) : [],
    isGone && isAlone ? takeValue(text, container, "lifecycle", fields, was("lifecycle")) : [],
    takeItems(text, container, "env", env, fields, was("env")),
    takeItems(text, container, "volumeMounts", mounts, fields, was("volumeMounts")),
    changed && variable ? orNone(replaceScalar(variable, scalar(changed.value))) : [],
  ];
  edits.push(take(text, container, fields));
  return edits.every((one) => one !== undefined) ? edits.flat() : undefined;
}

/** Removes items of a list. A list without items left is removed as a whole. */
function takeItems(
  text: string,
  parent: Field,
  key: string,
  gone: ReadonlySet<number>,
  fields: Set<string>,
  was: string | undefined,
): Edits {
  if (gone.size === 0) return [];
  const list = parent.at(key);
  if (list.items().length > gone.size) return removeEntries(text, list, gone);
  return takeValue(text, parent, key, fields, was);
}

/** Removes the whole value of a key. A value from before the injection comes back. Otherwise the key is removed with the other fields. */
function takeValue(
  text: string,
  parent: Field,
  key: string,
  fields: Set<string>,
  was: string | undefined,
): Edits {
  const value = removeValue(text, parent, key, was);
  if (value) return [value];
  fields.add(key);
  return [];
}

function ofAnnotations(text: string, template: Field, { annotations: gone, empties }: Removal): Edits {
  const metadata = template.at("metadata");
  const all = metadata.at("annotations");
  if (all.entries().length > gone.size) return take(text, all, gone);
  const isWhole = metadata.entries().length === 1 && empties.has("/metadata");
  const key = isWhole ? "metadata" : "annotations";
  const value = removeValue(text, isWhole ? template : metadata, key, empties.get(`/${key}`));
  if (value) return [value];
  return metadata.entries().length > 1
    ? take(text, metadata, new Set(["annotations"]))
    : take(text, template, new Set(["metadata"]));
}

function take(text: string, parent: Field, gone: ReadonlySet<string>): Edits {
  return gone.size === 0 ? [] : removeEntries(text, parent, gone);
}

function orNone(edit: Edit | undefined): Edits {
  return edit && [edit];
}
