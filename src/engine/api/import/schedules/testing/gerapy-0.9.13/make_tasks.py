import urllib.request, json
B='http://127.0.0.1:18123'
T=None
def call(path, data=None):
    h={'content-type':'application/json'}
    if T: h['Authorization']='Token '+T
    r=urllib.request.Request(B+path, json.dumps(data).encode() if data is not None else None, h)
    return json.load(urllib.request.urlopen(r))
T=call('/api/user/auth', {'username':'admin','password':'admin'})['token']
for c in [dict(name='one', ip='127.0.0.1', port=16801, auth=0), dict(name='two', ip='localhost', port=16802, auth=1, username='scrapyd', password='a password'), dict(name='gone', ip='10.0.0.9', port=6800)]:
    print(call('/api/client/create', c))
number = 0
def task(name, trigger, configuration, clients=(1,), **o):
    # Gerapy keeps one job for each client, project and spider: each task has a spider of its own, but for the last.
    global number
    number += 1
    d=dict(name=name, project='shop', spider='spider_%d' % number, clients=list(clients), trigger=trigger, configuration=configuration); d.update(o)
    print(call('/api/task/create', d))
Z='Europe/Berlin'
task('every night', 'cron', dict(year='',month='',day='',week='',day_of_week='mon-fri',hour='3',minute='30',second='',start_date=None,end_date=None,timezone=Z))
task('both clients', 'cron', dict(minute='*/15', timezone='UTC'), (1,2))
task('no zone', 'cron', dict(hour='5'))
task('sundays at 12', 'cron', dict(day_of_week='6', hour='12', minute='0,30', second='15', timezone='America/New_York'))
task('within bounds', 'cron', dict(hour='*/2', start_date='2026-12-01 00:00:00', end_date='2026-12-24 23:59:59', timezone='Asia/Tokyo'))
task('iso bounds', 'cron', dict(hour='7', start_date='2026-12-01T08:00:00.000Z', timezone=Z))
task('last day', 'cron', dict(day='last', hour='20', timezone=Z))
task('weeks', 'cron', dict(week='*/2', timezone=Z))
task('every 90 minutes', 'interval', dict(weeks=0, days=0, hours=1, minutes=30, seconds=0, start_date=None, end_date=None, timezone=Z))
task('every week from', 'interval', dict(weeks=1, start_date='2026-12-07 06:00:00', end_date='2027-03-01 00:00:00', timezone=Z))
task('every ten seconds', 'interval', dict(seconds=10, timezone='UTC'), (2,))
task('once', 'date', dict(run_date='2026-12-24 18:00:00', timezone=Z))
task('once without zone', 'date', dict(run_date='2026-12-24 18:00:00'))
task('once, over', 'date', dict(run_date='2026-01-01 00:00:00', timezone=Z))
task('client gone', 'cron', dict(hour='1', timezone='UTC'), (1,3))
task('no client', 'cron', dict(hour='1', timezone='UTC'), ())
task('same spider again', 'cron', dict(hour='2', timezone='UTC'), (1,), spider='spider_1')
