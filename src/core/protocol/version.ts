/** The version of this build, as package.json has it. */
export const version: string = __OMNI_DEV_VERSION__;
