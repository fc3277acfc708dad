import {
  decisionNames,
  initFlags,
  libraryVariables,
  numberNames,
  rows,
  type DecisionName,
  type InitFlag,
  type Option,
} from "../src/index.ts";
import { optionHelp } from "./help.ts";

const head = (what: string): string =>
  `/* ${what}\n * Written by \`node packages/options/generate/main.ts\` from packages/options/src/table.ts. */\n`;

const text = (value: string): string => JSON.stringify(value);
const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const namesInC = decisionNames.filter((name) => rows[name].init);

/** packages/init/src/decision/options.h */
export function decisionHeader(): string {
  const defaults = namesInC.flatMap((name) => {
    const value = rows[name].default;
    return value === undefined ? [] : [`#define ${macroOf(name)} ${JSON.stringify(value)}`];
  });
  return `${head("The options of the decision.")}#pragma once

/* What a user said, as text; NULL where nothing was said. */
struct drain_options {
${namesInC.map((name) => `\tconst char *${snake(name)};`).join("\n")}
};

/* Milliseconds. */
${defaults.join("\n")}

/* Numbers that stand for themselves: member, flag, name in code, form, default, least, most, policies that use it. NAN: there is none. */
#define DRAIN_NUMBERS(NUMBER) \\
${numberNames.map((name) => `\tNUMBER(${numberRow(name).join(", ")})`).join(" \\\n")}
`;
}

const macroOf = (name: DecisionName): string => `DEFAULT_${snake(name).toUpperCase()}`;

function numberRow(name: DecisionName): string[] {
  const { default: value, least = "NAN", most = "NAN", policies, init } = rows[name];
  const users = policies?.map((one) => `1 << POLICY_${one.toUpperCase().replaceAll("-", "_")}`);
  return [
    snake(name),
    text(init!.flag),
    text(name),
    formOf(rows[name]),
    value === undefined ? "NAN" : macroOf(name),
    String(least),
    String(most),
    users?.join(" | ") ?? "~0",
  ];
}

function formOf({ kind, aboveZero }: Option): string {
  if (kind === "duration") return aboveZero ? "POSITIVE_DURATION" : "DURATION";
  return kind === "number" ? "POSITIVE" : "WHOLE";
}

/** packages/init/src/cli/options.c */
export function flagTable(): string {
  const ours = new Set(initFlags.map(({ variable }) => variable));
  const others = libraryVariables.filter(({ variable }) => !ours.has(variable));
  return `${head("The table of flags, and their part of the help.")}#include "flags.h"

enum { TINI = 1 << PERSONALITY_TINI, DUMB_INIT = 1 << PERSONALITY_DUMB_INIT, OWN = 1 << PERSONALITY_OWN };

#define AT(field) offsetof(struct settings, field)

const struct flag flags[] = {
${initFlags.map((flag) => `\t{ ${flagRow(flag).join(", ")} },`).join("\n")}
};

const size_t flag_count = sizeof flags / sizeof *flags;

const char *const library_variables[] = {
${others.map(({ variable }) => `\t${text(variable)},`).join("\n")}
\tNULL,
};

const char option_help[] =
${optionHelp()
  .split(/(?<=\n)/)
  .map((line) => `\t${text(line)}`)
  .join("\n")};
`;
}

function flagRow({
  name,
  flag,
  variable,
  letter,
  letterOf = [],
  keeps,
  reads,
  holds,
  form,
}: InitFlag): string[] {
  const { decides, variable: shared, library, choices } = rows[name];
  const programs = ["own", ...letterOf].map((one) => one.toUpperCase().replaceAll("-", "_"));
  const place = decides ? `decision.${snake(name)}` : keeps;
  const members: readonly (readonly [string, string | undefined])[] = [
    ["name", text(flag)],
    ["variable", variable && text(variable)],
    ["letter", letter && `'${letter}'`],
    ["knows_letter", letter && programs.join(" | ")],
    ["kind", form.toUpperCase()],
    ["of_hold", (decides ?? holds) && "true"],
    ["told", decides && library && shared === variable ? "true" : undefined],
    ["choices", choices && !decides ? `{ ${choices.map(text).join(", ")} }` : undefined],
    ["offset", place && `AT(${place})`],
    ["read", reads],
  ];
  return members.flatMap(([member, said]) => (said === undefined ? [] : [`.${member} = ${said}`]));
}
