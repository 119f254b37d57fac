import { expect, test } from "vitest";
import { Screen } from "./screen.ts";

/** A terminal that takes what it is sent at once, or when `take` is called while it is slow. */
function aTerminal() {
  let written = "";
  let slow = false;
  let done: (() => void) | undefined;
  const screen = new Screen((text, taken) => {
    written += text.replace("\x1b[?2026h", "<").replace("\x1b[?2026l", ">");
    if (slow) done = taken;
    else taken();
  });
  return {
    screen,
    read() {
      const text = written.replaceAll("\x1b", "^");
      written = "";
      return text;
    },
    slowDown() {
      slow = true;
    },
    take() {
      done?.();
    },
  };
}

test("only lines that changed are written, and nothing when none did", () => {
  const { screen, read } = aTerminal();

  screen.draw(["one", "two", "three"]);
  expect(read()).toBe("<^[2J^[1;1H^[Kone^[2;1H^[Ktwo^[3;1H^[Kthree>");

  screen.draw(["one", "2", "three"]);
  expect(read()).toBe("<^[2;1H^[K2>");

  screen.draw(["one", "2", "three"]);
  expect(read()).toBe("");
});

test("a line that is gone is cleared", () => {
  const { screen, read } = aTerminal();
  screen.draw(["one", "two"]);
  read();

  screen.draw(["one"]);
  expect(read()).toBe("<^[2;1H^[K>");
});

test("what is forgotten is written again", () => {
  const { screen, read } = aTerminal();
  screen.draw(["one", "", "three"]);
  read();

  screen.forget();
  screen.draw(["one", "", "three"]);
  expect(read()).toBe("<^[2J^[1;1H^[Kone^[3;1H^[Kthree>");
});

test("a terminal that does not read gets the newest lines only, when it reads again", () => {
  const { screen, read, slowDown, take } = aTerminal();
  slowDown();
  screen.draw(["1"]);
  read();

  screen.draw(["2"]);
  screen.draw(["3"]);
  expect(read()).toBe("");

  take();
  expect(read()).toBe("<^[1;1H^[K3>");
});

test("what entering changes, leaving gives back, after all that was written before", async () => {
  const { screen, read, slowDown, take } = aTerminal();
  screen.enter();
  screen.draw(["1"]);
  slowDown();
  screen.draw(["2"]);
  const left = screen.leave();
  expect(read()).toBe("^[?1049h^[?25l^[?7l<^[2J^[1;1H^[K1><^[1;1H^[K2>");

  take();
  expect(read()).toBe("^[?7h^[?25h^[?1049l");

  take();
  await left;
});
