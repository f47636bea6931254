import urllib.request, urllib.parse, json, re
B='http://127.0.0.1:15123'
def post(path, data):
    return urllib.request.urlopen(B+path, urllib.parse.urlencode(data).encode()).read().decode()
def get(path): return urllib.request.urlopen(B+path).read().decode()
def add(action='add', nodes=(1,), **form):
    f=dict(project='shop', _version='default: the latest version', spider='prices', jobid='', trigger='cron', action=action, task_id='0', replace_existing='True', name='',
      year='*',month='*',day='*',week='*',day_of_week='*',hour='*',minute='0',second='0',start_date='',end_date='',timezone='',jitter='0',misfire_grace_time='600',coalesce='True',max_instances='1', additional='')
    f.update(form)
    r=json.loads(post('/1/schedule/check/', f))
    run={'filename': r['filename'], 'checked_amount': len(nodes)}
    for n in nodes: run[str(n)]='on'
    page=post('/1/schedule/run/', run)
    m=re.findall(r'(?:Add|Update) task #\d+[^<]*successfully, next run at [^<]*?\. |Fail to add task[^<]*|(?:ValueError|TypeError)[^<]*', page)
    print(form, m[:1])
import sys
A=add
A(name='nightly on weekdays', hour='3', minute='30', day_of_week='mon-fri', timezone='Europe/Berlin', additional='-d setting=CLOSESPIDER_PAGECOUNT=10 -d day={today} -d q=a=b', ROBOTSTXT_OBEY='False', DOWNLOAD_DELAY='2', USER_AGENT='Chrome')
A(name='both nodes', nodes=(1,2), minute='*/15', _version='2_1', jitter='30', coalesce='False', action='add_fire')
A(name='paused', action='add_pause', hour='5')
A(name='stopped later', hour='6')
A(name='month ends', day='last', hour='23', minute='59', second='30', timezone='America/New_York')
A(name='second friday', day='2nd fri,last mon', hour='8', timezone='UTC')
A(name='bounds', start_date='2026-12-01 00:00:00', end_date='2027-01-31 23:59:59', hour='12', timezone='Asia/Tokyo', misfire_grace_time='0')
A(name='both days', day='1-7', day_of_week='sun', hour='4', minute='15', timezone='UTC')
A(name='weeks', week='1-10', hour='1')
A(name='years', year='2027-2028', month='jan', day='1', hour='0')
A(name='', hour='*/6', minute='5,35', day_of_week='*,mon-fri')
A(name='steps', minute='2-58/7', hour='9-17/2', month='*/3', timezone='UTC')
A(name='wrong', second='10/*')
A(name='unreachable node', nodes=(3,), action='add_fire', hour='7')
A(name='paused later', hour='10', nodes=(2,))
A(name='over', end_date='2026-01-01 00:00:00', hour='2')
A(name='jitter and umlauts äöü', nodes=(2,1), hour='22', minute='0', jitter='600', timezone='UTC', max_instances='3', additional='-d names=ä -d json={"a":1}')
