import { summaryOf } from "../core/present/counts.ts";
import { inOrder } from "../core/present/order.ts";
import { visible } from "../core/present/visible.ts";
import type { Entry } from "../core/protocol/session.ts";
import { cutEnd } from "./cells.ts";
import { hiddenText, type ListingOptions, nothingLines, selected } from "./listing.ts";
import type { Paint, Style } from "./paint.ts";
import { tableLines } from "./table.ts";

/** How the connection to the daemon fares. */
export type Link = "connecting" | "live" | "lost";

/** What a live screen shows; no entries before the first frame. */
export type View = {
  entries?: readonly Entry[];
  link: Link;
  /** Where the daemon listens, while it runs inside this program. */
  embeddedAt?: string | undefined;
};

// Above the table stand the title and what is to be told about the daemon, below it the keys.
const HEAD_LINES = 2;
const FOOT_LINES = 1;

export type ViewOptions = ListingOptions & { width: number; height: number };

/** Draws a live screen: at most `height` lines, none wider than `width`. */
export function screenLines(view: View, options: ViewOptions): string[] {
  const { width, height, paint } = options;
  const room = Math.max(0, height - HEAD_LINES - FOOT_LINES);
  const { shown, hidden } = selected(view.entries ?? [], options.all);
  const line = (style: Style, text: string) => paint(style, cutEnd(text, width));
  const title = view.entries ? summaryOf(view.entries) : "omni-dev sessions";
  const foot = hidden > 0 ? `q quit  ${hiddenText(hidden)}` : "q quit";
  const note = noteOf(view, options.shorten);
  const head = [line("bold", title), line(note.style, note.text)];
  const body = view.entries ? bodyLines(shown, view.link, room, options) : [];
  const gap = Array<string>(Math.max(0, room - body.length)).fill("");
  return [...head, ...body, ...gap, line("dim", foot)].slice(0, height);
}

function noteOf(
  { link, embeddedAt }: View,
  shorten: (path: string) => string,
): { style: Style; text: string } {
  switch (link) {
    case "connecting":
      return { style: "dim", text: "connecting to the daemon…" };
    case "lost":
      return { style: "alert", text: "daemon lost, reconnecting…" };
    case "live": {
      const where = embeddedAt === undefined ? "" : visible(shorten(embeddedAt));
      return { style: "dim", text: where && `the daemon runs in this window, at ${where}` };
    }
  }
}

function bodyLines(
  shown: readonly Entry[],
  link: Link,
  room: number,
  options: ViewOptions,
): string[] {
  const { width, paint } = options;
  if (shown.length === 0) return nothingLines(width).slice(0, room);
  const ordered = inOrder(shown);
  const rowRoom = room - 1; // the heading is a line, too
  const fits = ordered.length <= rowRoom;
  const rows = ordered.slice(0, fits ? rowRoom : Math.max(0, rowRoom - 1));
  const more = fits ? [] : [paint("dim", cutEnd(`… ${ordered.length - rows.length} more`, width))];
  // What is known from before is no longer known to be true: it is shown without its colours.
  const dimmed: Paint = (_style, text) => paint("dim", text);
  const table = tableLines(rows, link === "lost" ? { ...options, paint: dimmed } : options);
  return [...table, ...more].slice(0, room);
}
