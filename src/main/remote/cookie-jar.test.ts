import { expect, it } from 'vitest'
import { CookieJar } from './sign-in-relay.ts'

it('keeps what a server sets, and forgets what it deletes', () => {
  const jar = new CookieJar()
  jar.add('__Host-scrapdeck_session=abc; Max-Age=3600; Path=/; HttpOnly; Secure; SameSite=Lax')
  jar.add('scrapdeck_step=1; Path=/')
  jar.add('scrapdeck_step=2; Path=/')
  expect(jar.toString()).toBe('__Host-scrapdeck_session=abc; scrapdeck_step=2')
  jar.add('scrapdeck_step=; Max-Age=0; Path=/')
  expect(jar.toString()).toBe('__Host-scrapdeck_session=abc')
  jar.add('__Host-scrapdeck_session=; max-age=0')
  expect(jar.isEmpty).toBe(true)
})

it('is limited in size, and ignores malformed cookies', () => {
  const jar = new CookieJar()
  for (let count = 0; count < 30; count += 1) jar.add(`name${count}=x`)
  expect(jar.toString().split('; ')).toHaveLength(20)
  const other = new CookieJar()
  for (const malformed of ['', '=x', 'no value', `a=${'x'.repeat(5_000)}`]) other.add(malformed)
  expect(other.isEmpty).toBe(true)
})
