import { get, post, type Request } from '../http.ts'
import type { Scenario } from './scenario.ts'

/** Basic auth covers every path (scrapyd-protocol.md, 7.2). */

const basic = (text: string, encoding: BufferEncoding = 'utf8') =>
  `Basic ${Buffer.from(text, encoding).toString('base64')}`
const GOOD = 'tester:a password for tests'

const access: Scenario = {
  name: 'credentials: none, wrong, malformed, good',
  isShort: true,
  async run(pair) {
    const paths = [
      '/',
      '/jobs',
      '/daemonstatus.json',
      '/schedule.json',
      '/logs/',
      '/items/',
      '/logs',
      '/none.json',
      '/none/deep'
    ]
    const asked = (path: string, method = 'GET'): Request => ({ method, path, withoutCredentials: true })
    for (const path of paths) await pair.ask(asked(path))
    for (const method of ['HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE']) {
      for (const path of ['/daemonstatus.json', '/schedule.json', '/jobs', '/logs/'])
        await pair.ask(asked(path, method))
    }
    const credentials = [
      '',
      'Basic',
      'Basic ',
      'Basic !!!',
      'Basic dGVzdGVy',
      'Bearer abc',
      'Digest username="tester"',
      basic('tester:wrong'),
      basic('other:a password for tests'),
      basic(`${GOOD}x`),
      basic('tester:'),
      basic(':'),
      basic('tést:ü', 'latin1'),
      basic(GOOD).replace('Basic', 'BASIC'),
      basic(GOOD).replace('Basic', 'basic'),
      basic(GOOD).replace('Basic ', 'Basic  '),
      basic(GOOD).replaceAll('=', ''),
      `${basic(GOOD)} trailing`,
      basic(GOOD)
    ]
    for (const authorization of credentials) {
      await pair.ask({ ...get('/daemonstatus.json', { authorization }), withoutCredentials: true })
    }
    await pair.ask({ ...post('schedule.json', { project: 'p', spider: 's' }), withoutCredentials: true })
    await pair.ask({ ...get('/daemonstatus.json', { cookie: 'a=b' }), withoutCredentials: true })
    await pair.ask(get('/daemonstatus.json?username=tester'))
  }
}

export const accessScenarios: Scenario[] = [access]
