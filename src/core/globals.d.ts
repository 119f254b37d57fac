// The few globals that the core may use: they are pure, and every JavaScript host has them.

declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean });
  decode(input?: Uint8Array): string;
}

declare class TextEncoder {
  encode(input?: string): Uint8Array;
}

/** The version in package.json, written in at build time. */
declare const __OMNI_DEV_VERSION__: string;
