/** Version of this package, put in by the bundler. */
declare const PI_SANDBOX_VERSION: string;
