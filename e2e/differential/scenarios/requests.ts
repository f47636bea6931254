import { reporterEgg } from '../eggs.ts'
import { get, post, postForm, postMultipart, type Request } from '../http.ts'
import type { Scenario } from './scenario.ts'

const GETS = ['daemonstatus', 'listprojects', 'listversions', 'listspiders', 'listjobs', 'status']
const POSTS = ['addversion', 'schedule', 'cancel', 'delversion', 'delproject']
const ENDPOINTS = [...GETS, ...POSTS].map((name) => `${name}.json`)

const METHODS = ['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND']

const methods: Scenario = {
  name: 'every method on every endpoint',
  isShort: true,
  async run(pair) {
    for (const endpoint of ENDPOINTS) {
      for (const method of METHODS) await pair.ask({ method, path: `/${endpoint}` })
    }
  }
}

const strangeMethods: Scenario = {
  name: 'methods that HTTP does not know, and lower case',
  async run(pair) {
    for (const endpoint of ['daemonstatus.json', 'schedule.json']) {
      for (const method of ['get', 'Post', 'SCRAPE', 'options']) await pair.ask({ method, path: `/${endpoint}` })
    }
  }
}

const paths: Scenario = {
  name: 'paths beside the endpoints',
  isShort: true,
  async run(pair) {
    const beside = [
      '/daemonstatus.json/',
      '/daemonstatus.json/x',
      '//daemonstatus.json',
      '/daemonstatus',
      '/DAEMONSTATUS.json',
      '/none.json',
      '/daemonstatus%2ejson',
      '/daemonstatus.json?',
      '/daemonstatus.json?x=1;y',
      '/daemonstatus.json;x=1',
      '/%64aemonstatus.json',
      '/./daemonstatus.json',
      '/x/../daemonstatus.json',
      '/jobs/',
      '/jobs/x',
      '/favicon.ico',
      '/robots.txt',
      '/listprojects.json%00',
      '/%ff'
    ]
    await pair.askAll(beside.map((path) => get(path)))
    await pair.askAll(['/none.json', '/jobs/x'].map((path) => post(path.slice(1), { project: 'a' })))
    await pair.askAll(['HEAD', 'OPTIONS', 'PUT', 'DELETE'].map((method) => ({ method, path: '/none.json' })))
  }
}

const withHold = (holder: string, run: Scenario['run']): Scenario['run'] =>
  async function runWithHold(pair) {
    await pair.ask(
      postMultipart('addversion.json', [
        ['project', 'p'],
        ['version', '1'],
        ['egg', await reporterEgg()]
      ])
    )
    await pair.hold('p', holder)
    await run(pair)
  }

const parsing: Scenario = {
  name: 'how parameters are read, by schedule.json and listjobs.json',
  isShort: true,
  run: withHold('holds-parsing', async (pair) => {
    const bodies = [
      'project=p&spider=report&jobid=plain',
      'project=p;spider=report;jobid=semicolons',
      'project=p&spider=report&jobid=a%20b+c%2Bd',
      'project=p&spider=report&jobid=repeated&jobid=second&project=q',
      'project=p&spider=report&jobid=bare&novalue&=noname&empty=',
      'project=p&spider=report&jobid=%C3%A9%E2%98%83%F0%9F%98%80',
      'project=p&spider=report&jobid=%C3',
      'project=p&spider=report&jobid=args&a=1&b=%20&c=%C3%A9&a=2',
      'project=p&spider=report&jobid=badargument&a=%ff',
      'project=p&spider=report&jobid=badname&%ff=1',
      'project=p&spider=report&jobid=settings&setting=A=1&setting=B=x%3Dy&setting=A=2&setting==empty',
      'project=p&spider=report&jobid=nosettings&setting=A',
      'project=p&spider=report&jobid=nosettings&setting=A=1&setting=',
      'project=p&spider=report&jobid=badsetting&setting=%ff=1',
      'project=p&spider=report&jobid=equals&a=b=c=d',
      'project=p&spider=report&jobid=percent&a=%zz%4&b=100%',
      'project=p&spider=report&jobid=quote%22%27%3C%26%3E',
      'project=p&spider=report&jobid=line%0Abreak',
      'project=p&spider=report&jobid=amp&amp;a=1',
      '%70roject=p&spide%72=report&jobid=encodednames',
      'Project=p&spider=report',
      'project=&spider=report',
      'project=p&spider=',
      'project=p&spider=report&jobid=',
      'project=p&spider=report&_version=',
      'project=p&spider=report&jobid=version&_version=1',
      'project=p&spider=report&_version=9',
      'project=p&spider=report&_version=%ff',
      'project=p&spider=nobody',
      'project=nothing&spider=report',
      'spider=report',
      'project=p',
      '',
      '&;&',
      'project=%ff&spider=report',
      'project=%00&spider=report',
      'project=..%2Fp&spider=report',
      'project=p&spider=..%2Freport'
    ]
    for (const body of bodies) await pair.ask(postForm('schedule.json', body))
    await pair.ask(get('/listjobs.json?project=p'))
    const queries = [
      'project=p',
      'project=p;x',
      'project=%70',
      'project=p&project=q',
      'project=q&project=p',
      'project',
      'project='
    ]
    for (const query of [...queries, 'project=%ff', 'project=%00', 'project=%2e%2e', 'project=+p', 'project=p%20'])
      await pair.ask(get(`/listjobs.json?${query}`))
  })
}

const bodies: Scenario = {
  name: 'bodies of every type, beside the query',
  run: withHold('holds-bodies', async (pair) => {
    const schedule = (path: string, type: string | null, body: string): Request => ({
      method: 'POST',
      path: `/schedule.json${path}`,
      ...(type === null ? {} : { headers: { 'content-type': type } }),
      body
    })
    const form = 'application/x-www-form-urlencoded'
    const query = '?project=p&spider=report&jobid=query'
    await pair.ask({ method: 'POST', path: `/schedule.json${query}` })
    await pair.ask(schedule(`${query}0`, form, ''))
    await pair.ask(schedule(`${query}1`, form, 'jobid=body1'))
    await pair.ask(schedule(`${query}2&a=query&setting=A=query`, form, 'a=body&setting=A=body'))
    await pair.ask(schedule(`${query}3`, 'application/json', '{"jobid": "json"}'))
    await pair.ask(schedule('', 'application/json', '{"project": "p", "spider": "report"}'))
    await pair.ask(schedule(`${query}4`, 'text/plain', 'jobid=plain'))
    await pair.ask(schedule('', 'text/plain', 'project=p&spider=report'))
    await pair.ask(schedule('', null, 'project=p&spider=report'))
    await pair.ask(schedule('', `${form}; charset=latin-1`, 'project=p&spider=report&jobid=charset%E9'))
    await pair.ask(schedule('', `${form}; charset=utf-8`, 'project=p&spider=report&jobid=charset'))
    await pair.ask(schedule('', form.toUpperCase(), 'project=p&spider=report&jobid=uppercase'))
    await pair.ask(schedule('', `${form};boundary=x`, 'project=p&spider=report&jobid=boundary'))
    await pair.ask(
      postMultipart('schedule.json', [
        ['project', 'p'],
        ['spider', 'report'],
        ['jobid', 'multipart'],
        ['a', 'é;&=+']
      ])
    )
    await pair.ask(
      postMultipart('schedule.json', [
        ['project', 'p'],
        ['spider', Buffer.from('report')],
        ['jobid', 'filepart']
      ])
    )
    await pair.ask(
      postMultipart('schedule.json', [
        ['project', 'p'],
        ['spider', 'report'],
        ['setting', 'A=1'],
        ['setting', 'B=2'],
        ['jobid', 'm-settings']
      ])
    )
    await pair.ask(
      postMultipart('schedule.json', [
        ['project', 'p'],
        ['spider', Buffer.from([0xff])]
      ])
    )
    await pair.ask(schedule('', 'multipart/form-data', 'project=p'))
    await pair.ask(schedule('', 'multipart/form-data; boundary=', 'project=p'))
    await pair.ask(schedule('', 'multipart/form-data; boundary=x', 'project=p'))
    await pair.ask(schedule('', 'multipart/form-data; boundary=x', ''))
    await pair.ask(schedule(`${query}5`, 'multipart/form-data; boundary=x', '--x--\r\n'))
    await pair.ask(
      schedule(
        '',
        'multipart/form-data; boundary="x"',
        '--x\r\nContent-Disposition: form-data; name=project\r\n\r\np\r\n--x\r\ncontent-disposition:form-data;name="spider"\r\n\r\nreport\r\n--x\r\nContent-Disposition: form-data; name="jobid"\r\n\r\nquoted\r\n--x--'
      )
    )
    await pair.ask(
      schedule('', 'multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form-data\r\n\r\np\r\n--x--')
    )
    await pair.ask({ method: 'GET', path: '/listspiders.json', headers: { 'content-type': form }, body: 'project=p' })
    await pair.ask(
      post('schedule.json', [
        ['project', 'p'],
        ['spider', 'report'],
        ['jobid', 'chunky'],
        ['long', 'x'.repeat(100_000)]
      ])
    )
    await pair.ask(get('/listjobs.json?project=p'))
    await pair.ask({ ...get('/listjobs.json?project=p'), headers: { origin: 'http://other.example' } })
    await pair.ask({
      ...post('cancel.json', { project: 'p', job: 'charset' }),
      headers: { origin: 'http://other.example', 'content-type': form }
    })
  })
}

const longNames: Scenario = {
  name: 'names that are too long',
  isShort: true,
  async run(pair) {
    const long = 'x'.repeat(201)
    await pair.ask(post('schedule.json', { project: long, spider: 'report' }))
    await pair.ask(post('cancel.json', { project: 'p', job: long }))
    await pair.ask(get(`/listspiders.json?project=${long}`))
    await pair.ask(get(`/status.json?job=${long}`))
    await pair.ask(get(`/listspiders.json?project=${long.slice(1)}`))
  }
}

export const requestScenarios: Scenario[] = [methods, strangeMethods, paths, parsing, bodies, longNames]
