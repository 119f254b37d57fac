/** Milliseconds since 1970-01-01T00:00:00Z. Names of such values end in `At`. */
export type EpochMs = number;

const DAY_MS = 86_400_000;
const LONGEST_MS = 253_402_300_799_999; // the end of the year 9999, the last that RFC 3339 can say
const FORM =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Writes a time as RFC 3339 in UTC with milliseconds, the form every time has on the wire. */
export function formatTime(at: EpochMs): string {
  const ms = Math.min(Math.max(Math.trunc(at), 0), LONGEST_MS);
  const days = Math.floor(ms / DAY_MS);
  const { year, month, day } = dateOf(days);
  const rest = ms - days * DAY_MS;
  const time = [rest / 3_600_000, (rest / 60_000) % 60, (rest / 1000) % 60].map(two).join(":");
  return `${digits(year, 4)}-${two(month)}-${two(day)}T${time}.${digits(rest % 1000, 3)}Z`;
}

/** Reads an RFC 3339 time; `undefined` for anything else, an impossible date included. */
export function parseTime(text: string): EpochMs | undefined {
  const found = FORM.exec(text);
  if (!found) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found
    .slice(1, 7)
    .map(Number);
  const days = daysOf(year, month, day);
  const date = dateOf(days);
  if (date.month !== month || date.day !== day) return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const fraction = Math.trunc(Number(`0.${found[7] ?? 0}`) * 1000);
  const offset =
    (Number(found[9] ?? 0) * 60 + Number(found[10] ?? 0)) * (found[8] === "-" ? -1 : 1);
  return days * DAY_MS + ((hour * 60 + minute - offset) * 60 + second) * 1000 + fraction;
}

const digits = (value: number, width: number) => String(Math.trunc(value)).padStart(width, "0");
const two = (value: number) => digits(value, 2);

// The Gregorian calendar repeats every 400 years, which are 146,097 days. Counting years from
// March puts the leap day last, so that the lengths of the months before it follow one formula.
const DAYS_TO_1970 = 719_468; // from 0000-03-01

function daysOf(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
  return era * 146_097 + yearOfEra * 365 + leapDays + dayOfYear - DAYS_TO_1970;
}

function dateOf(days: number): { year: number; month: number; day: number } {
  const shifted = days + DAYS_TO_1970;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const leapDays =
    Math.floor(dayOfEra / 1460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365);
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = ((monthFromMarch + 2) % 12) + 1;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}
