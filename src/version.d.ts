/** Version of this package, put in by the bundler. */
declare const PI_SANDBOX_VERSION: string;
/** Hash of the bundled command, put in by the build. */
declare const PI_SANDBOX_BUILD: string;
