// Formats text for the user.
import type { Model } from './protocol';

/** The descriptions of the edit policies. */
export const policyWords: Record<string, string> = {
  ask: 'ask first',
  review: 'review after',
  collect: 'collect',
  auto: 'automatic',
  confirm: 'confirm',
};

/** The descriptions of the permission profiles. */
export const profileWords: Record<string, string> = {
  readOnly: 'read-only',
  ask: 'ask',
  workspace: 'sandboxed',
  trust: 'trusted',
};

/** Describes a model for a list: its context window, its price and its capabilities. */
export function modelFacts(
  model: Pick<Model, 'contextWindow' | 'cost' | 'tools' | 'vision' | 'thinking'>,
): string {
  const { contextWindow, cost, tools, vision, thinking } = model;
  const price = cost && `$${cost.input} in, $${cost.output} out per million tokens`;
  const window = contextWindow && `${shortCount(contextWindow)} context`;
  const abilities = [
    tools === undefined ? '' : tools ? 'tools' : 'no tools',
    vision && 'images',
    thinking?.length && 'thinking',
  ];
  return [window, price, abilities.filter(Boolean).join(', ')].filter(Boolean).join(' · ');
}

/** Formats a number of tokens, for example 8K, 1M or 1.5M. */
export function shortCount(tokens: number): string {
  const short = (unit: number) => String(Math.round((tokens / unit) * 10) / 10);
  if (tokens >= 1_000_000) return `${short(1_000_000)}M`;
  return tokens >= 1000 ? `${Math.round(tokens / 1000)}K` : String(tokens);
}

/** Returns an error's text as a complete sentence. */
export function sentenceOf(text: string): string {
  const trimmed = text.trim();
  const begun = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?…:]$/.test(begun) ? begun : `${begun}.`;
}

/**
 * Escapes `$(name)`, which the editor would draw as an icon. It adds no other backslashes, because
 * the editor would show them.
 */
export function withoutIcons(text: string): string {
  return text.replace(/\$\([A-Za-z0-9-]+(?:~[A-Za-z]+)?\)/g, '\\$&');
}

/** Returns a number with its noun, which is in the plural unless the number is 1. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

/** Returns the first line of a text, shortened to fit into a list entry. */
export function firstLine(text: string, most = 80): string {
  const line = text.trim().split('\n')[0] ?? '';
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/**
 * Splits a model error into the problem and the hint, which is in parentheses at the end of the
 * error.
 */
export function errorParts(message: string): { what: string; help: string } {
  const [, what = message, help = ''] =
    /^(.*\S) \(([^()]+(?:\([^()]*\)[^()]*)*)\)$/s.exec(message) ?? [];
  return { what: sentenceOf(what), help: help && sentenceOf(help) };
}
