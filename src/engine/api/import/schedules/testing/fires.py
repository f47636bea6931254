# Run with the Python of the program whose jobs are read: what its own triggers answer, for the tests of the import.
import json, os, pickle, sqlite3, sys
from datetime import datetime, timedelta, timezone

kind, path, after = sys.argv[1], sys.argv[2], datetime(2026, 11, 21, 16, tzinfo=timezone.utc)
if kind == 'gerapy':
    os.environ['DJANGO_SETTINGS_MODULE'] = 'gerapy.server.server.settings'
    import django
    django.setup()
table = 'apscheduler_jobs' if kind == 'scrapydweb' else 'django_apscheduler_djangojob'
for job_id, state in sqlite3.connect(path).execute(f'SELECT id, job_state FROM {table} ORDER BY id'):
    trigger = pickle.loads(state)['trigger']
    if hasattr(trigger, 'jitter'):
        trigger.jitter = None
    times, previous, now = [], None, after
    while len(times) < 30:
        at = trigger.get_next_fire_time(previous, now)
        if at is None: break
        times.append(round(at.timestamp() * 1000))
        previous, now = at, at + timedelta(microseconds=1)
    print(json.dumps({'id': job_id, 'trigger': repr(trigger), 'times': times}))
