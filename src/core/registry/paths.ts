/** A folder's path without trailing or doubled slashes; `/` stays. */
export function tidyPath(path: string): string {
  const tidy = path.replace(/\/{2,}/g, "/");
  return tidy.length > 1 && tidy.endsWith("/") ? tidy.slice(0, -1) : tidy;
}

/** Whether `path` is `folder` or lies in it, by whole components: `/w/app` is not in `/w/ap`. */
export function isWithin(path: string, folder: string): boolean {
  if (path === folder || folder === "/") return path.startsWith("/");
  return path.startsWith(`${folder}/`);
}
