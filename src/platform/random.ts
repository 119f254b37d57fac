/** A number from 0 up to, not including, 1. */
export type Random = () => number;

/** The randomness of the machine: good enough to spread retries, not to keep secrets. */
export const systemRandom: Random = () => Math.random();
