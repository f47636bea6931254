/**
 * The two Python programs in a pod. They are in each Job, which every list repeats: as short as they can be. The image
 * brings Python 3.8 or later and Scrapy.
 */

/** The init step: fetches the egg, checks it, and tries again for some minutes while the engine does not respond. */
export const FETCH_EGG = `import hashlib,os,sys,time,urllib.error,urllib.request
path=os.path.join(os.environ["SCRAPDECK_DIRECTORY"],"project.egg")
problem=None
for wait in (1,2,4,8,15,30,30,30,30,0):
 try:
  digest=hashlib.sha256()
  with urllib.request.urlopen(os.environ["SCRAPDECK_EGG_URL"],timeout=60) as answer,open(path+".part","wb") as file:
   for piece in iter(lambda:answer.read(65536),b""):
    digest.update(piece)
    file.write(piece)
  if digest.hexdigest()!=os.environ["SCRAPDECK_EGG_SHA256"]:
   sys.exit("Scrapdeck sent another egg than the one of this run")
  os.replace(path+".part",path)
  sys.exit(0)
 except urllib.error.HTTPError as error:
  problem=error
  if error.code in (403,404):
   break
 except OSError as error:
  problem=error
 time.sleep(wait)
sys.exit("The egg cannot be fetched from Scrapdeck: %s"%problem)
`

/** The main step: runs the spider of the project with its log on the standard error, values of secrets hidden. */
export const RUN_SPIDER = `import json,os,sys
run=json.loads(os.environ.pop("SCRAPDECK_RUN"))
hidden=json.loads(os.environ.pop("SCRAPDECK_SECRETS","{}"))
for name in ("settings","args","env"):
 run[name].update(hidden.get(name,{}))
directory=os.environ.pop("SCRAPDECK_DIRECTORY")
os.environ.update(run["env"])
values=sorted({v for part in hidden.values() for v in part.values() if len(v)>3},key=len,reverse=True)
if values:
 import logging
 plain=logging.Handler.format
 def masked(self,record):
  text=plain(self,record)
  for value in values:
   text=text.replace(value,"\\u2022"*6)
  return text
 logging.Handler.format=masked
if run["settingsModule"]:
 sys.path.insert(0,os.getcwd())
 os.environ["SCRAPY_SETTINGS_MODULE"]=run["settingsModule"]
else:
 import re,zipfile
 egg=os.path.join(directory,"project.egg")
 sys.path.insert(0,egg)
 with zipfile.ZipFile(egg) as archive:
  names=archive.namelist()
  tops=[n.split("/")[0] for n in names if re.match(r"[^/]+\\.(dist|egg)-info/",n,re.I)]
  top="EGG-INFO" if "EGG-INFO/PKG-INFO" in names else tops[0]
  text=archive.read(top+"/entry_points.txt").decode()
 section=None
 for line in map(str.strip,text.splitlines()):
  if line[:1]=="[":
   section=line[1:-1].strip()
  elif section=="scrapy" and line.split("=")[0].strip()=="settings":
   os.environ["SCRAPY_SETTINGS_MODULE"]=re.split(r"[:\\[]",line.split("=",1)[1])[0].strip()
class Plain(str):
 def __getitem__(self,index):
  return "." if index==0 else super().__getitem__(index)
word=lambda text:Plain(text) if text.startswith("-") else text
argv=["scrapy","crawl",word(run["spider"])]
for flag,part in (("-s","settings"),("-a","args")):
 for name,value in run[part].items():
  argv+=[flag,word(name+"="+value)]
from scrapy.cmdline import execute
execute(argv)
`
