/** Where the login page gets what a passkey must sign. */
export const PASSKEY_OPTIONS_PATH = '/ui/login/passkey'
