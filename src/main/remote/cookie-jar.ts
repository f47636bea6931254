/** Enough for a login. */
const COOKIES_MAX = 20
const LENGTH_MAX = 4_096

const SET_COOKIE = /^([^=;\s]+)=([^;]*)(.*)$/s
const IS_DELETED = /;\s*max-age\s*=\s*(0|-\d+)\s*(;|$)/i

/** The cookies that one server has set, by their names. They are sent to no other. */
export class CookieJar {
  readonly #values = new Map<string, string>()

  get isEmpty(): boolean {
    return this.#values.size === 0
  }

  /** One `Set-Cookie`. What is malformed or too much is not kept. */
  add(setCookie: string): void {
    const [, name, value, attributes] = SET_COOKIE.exec(setCookie) ?? []
    if (name === undefined || setCookie.length > LENGTH_MAX) return
    this.#values.delete(name)
    if (IS_DELETED.test(attributes!)) return
    if (this.#values.size < COOKIES_MAX) this.#values.set(name, value!)
  }

  /** The value of `Cookie`. */
  toString(): string {
    return [...this.#values].map(([name, value]) => `${name}=${value}`).join('; ')
  }
}
